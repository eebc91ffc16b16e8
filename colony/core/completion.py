"""What lets a shell complete Colony's words: a text that the shell reads, one for each shell.

The shell calls the program with the words so far, the last one unfinished, and gets a line for each
that could stand there: the word, a tab, what it means. No line: it completes file names.
"""

from __future__ import annotations

from typing import Final

_BASH: Final = """\
_colony() {
  local line
  COMPREPLY=()
  while IFS= read -r line; do
    COMPREPLY+=("${line%%$'\\t'*}")
  done < <(@ completion words -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _colony colony colony.sh
"""

_ZSH: Final = """\
_colony() {
  local line
  local -a found
  @ completion words -- "${(@)words[2,CURRENT]}" 2>/dev/null | while IFS= read -r line; do
    found+=("${${line%%$'\\t'*}//:/\\\\:}:${line#*$'\\t'}")
  done
  if (( $#found )); then
    _describe -V word found
  else
    _files
  fi
}
compdef _colony colony colony.sh
"""

_FISH: Final = """\
function __colony_words
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l found (@ completion words -- $words[2..-1] "$current" 2>/dev/null)
    if test (count $found) -gt 0
        printf '%s\\n' $found
    else
        __fish_complete_path "$current"
    end
end
complete -c colony -f -a '(__colony_words)'
complete -c colony.sh -f -a '(__colony_words)'
"""

SCRIPTS: Final = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}
HOW: Final = {
    "bash": 'eval "$(colony completion bash)"   # in ~/.bashrc',
    "zsh": 'eval "$(colony completion zsh)"   # in ~/.zshrc, after compinit',
    "fish": "colony completion fish | source   # in ~/.config/fish/config.fish",
}
"""How a person puts it to use."""


def script(shell: str, program: str) -> str:
    """The text for a shell of `SCRIPTS`. `program` is a command line, quoted for it."""
    text = SCRIPTS[shell].replace("@ completion", f"{program} completion")
    return f"# {HOW[shell]}\n{text}"
