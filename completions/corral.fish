# SPDX-License-Identifier: Apache-2.0
#
# Completion of corral(1) for fish. Installed as share/fish/vendor_completions.d/corral.fish.
# The program itself knows its commands, options and their words (src/cli/complete.h).

function __corral_words
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    for line in (corral --complete $words[2..] 2>/dev/null)
        set -l parts (string split -m 1 \t -- $line)
        switch $parts[1]
            case '@files'
                __fish_complete_path $current
            case '@folders'
                __fish_complete_directories $current
            case '@hosts'
                __fish_print_hostnames
            case '@programs'
                __fish_complete_command
            case '@command *'
                set -l first (math (string replace '@command ' '' -- $parts[1]) + 1)
                complete -C (string join ' ' -- (string escape -- $words[$first..]) $current)
            case '*'
                printf '%s\n' $line
        end
    end
end

complete -c corral -f -a '(__corral_words)'
