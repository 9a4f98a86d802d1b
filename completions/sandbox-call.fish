# SPDX-License-Identifier: Apache-2.0
#
# Completion of sandbox-call(1) for fish. Installed as share/fish/vendor_completions.d/sandbox-call.fish.

function __sandbox_call_words
    set -l words (commandline -opc)
    set -l method
    for word in $words[2..]
        if not string match -q -- '-*' $word
            set method $word
            break
        end
    end
    sandbox-call --complete $method 2>/dev/null
end

complete -c sandbox-call -f -a '(__sandbox_call_words)'
complete -c sandbox-call -l list -d 'List the methods'
complete -c sandbox-call -l help -d 'Print a summary, or the parameters of a method'
complete -c sandbox-call -l json -d 'Print the result as JSON'
complete -c sandbox-call -l stream -d 'Print output and progress while the call runs'
complete -c sandbox-call -l timeout -x -d 'Give up after this time'
