#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# A folder of dotfiles as the working folder: what links of the home lead to in it is read by
# shells, editors and agents outside of the sandbox. Links as GNU stow makes them (relative, of files
# or of whole folders) and as chezmoi does (absolute, to files with other names).
# shellcheck disable=SC2154 # names come from lib.sh
set -u
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. "$(dirname "$0")/lib.sh"

needs_sandbox
stow=$HOME/dotfiles chezmoi=$HOME/.local/share/chezmoi
kept='.claude/settings.json .claude/hooks/check.sh .claude/commands/go.md .codex/config.toml .gemini/settings.json .cursor/mcp.json
.claude.json .config/opencode/opencode.json .config/opencode/plugin/one/x.ts .config/crush/crush.json .config/goose/config.yaml .config/amp/settings.json
.config/Code/User/settings.json .config/Code/User/tasks.json .config/VSCodium/User/snippets/c.json .config/zed/settings.json
.config/helix/languages.toml .config/nvim/lua/plugins/deep/lsp.lua .config/fish/conf.d/one/two/x.fish
.config/systemd/user/a.target.wants/x.service .config/kitty/kitty.conf .config/sway/config .config/mise/config.toml
.config/starship.toml .bashrc.d/one.sh .aliases .p10k.zsh .config/lazygit/config.yml .tigrc .psqlrc .vimrc .gitconfig'
# What a build makes may be linked there as well: it stays writable, and a change is reported.
told='.local/bin/tool bin/other .cargo/config.toml'

# name_of FILE: as chezmoi has it.
name_of() { echo "$1" | sed 's#^\.#dot_#; s#/\.#/dot_#g'; }
# link FILE SOURCE TARGET: the file exists in the dotfiles, and the home has a link.
link() {
	mkdir -p "$(dirname "$2")" "$(dirname "$HOME/$1")"
	echo mine >"$2" && ln -s "$3" "$HOME/$1"
}
# up FILE: the way from its folder back to the home.
up() { dirname "$1" | sed '/^\.$/d; s#[^/]*#..#g; s#$#/#'; }
# check SOURCE NAME: it can be read and not written, in the profile and in an agent mode.
check() {
	run_prints mine "$2 can be read" -- cat "$1"
	run_stops "$2 is not written" -- sh -c "echo evil >>$1 2>/dev/null"
	run_stops "nor replaced" -- sh -c "echo evil >new && mv new $1 2>/dev/null"
	rm -f new
}

mkdir -p "$stow" && cd "$stow" || exit 1
for file in $kept $told; do
	package=pkg-$(echo "$file" | tr -d ./)
	link "$file" "$stow/$package/$file" "$(up "$file")dotfiles/$package/$file"
done
for file in $kept; do check "pkg-$(echo "$file" | tr -d ./)/$file" "stow: $file"; done
for file in $told; do
	source=pkg-$(echo "$file" | tr -d ./)/$file
	run run -- sh -c "echo more >>$source"
	status_is 0 "stow: $file is written"
	err_has "the command changed $source" "and reported"
done
run run --mode sandbox --data-dir "$stow" -- sh -c "echo evil >>$stow/pkg-codexconfigtoml/.codex/config.toml"
{ [ "$status" -ne 0 ] && ! grep -q evil pkg-codexconfigtoml/.codex/config.toml; }
ok $? "nor is one written in an agent mode with this folder as its own"

# Whole folders, and links in them that lead on.
for file in $kept $told; do rm "$HOME/$file"; done
rm -r "$HOME/.codex" "$HOME/.config/helix" "$HOME/.claude" "$HOME/.config/Code"
mkdir -p codex helix code/User real lead && echo mine >codex/config.toml && echo mine >helix/config.toml && echo mine >real/tasks.json
echo mine >real/settings.json && ln -s ../../lead/tasks code/User/tasks.json && ln -s ../real/tasks.json lead/tasks
ln -s dotfiles/codex "$HOME/.codex" && ln -s ../dotfiles/helix "$HOME/.config/helix" && mkdir "$HOME/.config/Code" && ln -s ../../dotfiles/code/User "$HOME/.config/Code/User"
mkdir "$HOME/.claude" && ln -s "$HOME/elsewhere" "$HOME/.claude/settings.json" && ln -s dotfiles/real/settings.json "$HOME/elsewhere"
for file in codex/config.toml helix/config.toml real/tasks.json real/settings.json; do check "$file" "a folder that is a link, or links that lead on: $file"; done
run_stops "nothing new comes into such a folder" -- sh -c 'echo evil >codex/hooks.json 2>/dev/null'
run run -- sh -c 'rm lead/tasks && ln -s ../mine lead/tasks'
err_has "lead/tasks" "a link on the way that is replaced is reported"
run_prints mine "--write by name lets one be written" --write "$stow/helix/config.toml" -- sh -c 'cat helix/config.toml; echo more >>helix/config.toml'

# Nothing of it where the home leads elsewhere.
mkdir -p "$HOME/other/codex" && cd "$HOME/other" && echo mine >codex/config.toml
run run -- sh -c 'echo more >>codex/config.toml'
status_is 0 "a folder that no link leads to is written"
err_empty "and nothing is reported"

rm "$HOME/.codex" "$HOME/.config/helix" "$HOME/.config/Code/User" && rm -r "$HOME/.claude"
mkdir -p "$chezmoi" && cd "$chezmoi" || exit 1
for file in $kept; do link "$file" "$chezmoi/$(name_of "$file")" "$chezmoi/$(name_of "$file")"; done
for file in $kept; do check "$(name_of "$file")" "chezmoi: $file"; done

done_testing
