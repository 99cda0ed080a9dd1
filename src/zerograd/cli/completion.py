"""zerograd completion: a script that completes commands and options in bash, zsh or fish."""

from collections.abc import Sequence
from importlib import import_module

from zerograd.cli import COMMANDS
from zerograd.cli.options import Parser
from zerograd.errors import unknown
from zerograd.rules import REGISTRY

SHELLS = ("bash", "zsh", "fish")
EXAMPLES = """\
  zerograd completion bash > ~/.local/share/bash-completion/completions/zerograd
  zerograd completion fish > ~/.config/fish/completions/zerograd.fish
  source <(zerograd completion zsh)"""


def parser() -> Parser:
    parser = Parser("completion", "Print a completion script for a shell.", examples=EXAMPLES)
    parser.add_argument("shell", metavar="SHELL", help=", ".join(SHELLS))
    return parser


def main(argv: Sequence[str]) -> int:
    shell = parser().parse_args(argv).shell
    if shell not in SHELLS:
        raise unknown("shell", shell, list(SHELLS), slug="unknown-option")
    options = {name: import_module(f"zerograd.cli.{name}").parser().options() for name in COMMANDS}
    options["rule"] += REGISTRY
    options["completion"] += SHELLS
    print(_fish(options) if shell == "fish" else _bash(options, zsh=shell == "zsh"))
    return 0


def _bash(options: dict[str, list[str]], *, zsh: bool) -> str:
    cases = "\n".join(f'        {name}) words="{" ".join(words)}" ;;' for name, words in options.items())
    head = "autoload -U +X bashcompinit && bashcompinit\n" if zsh else ""
    return f"""{head}_zerograd() {{
    local current="${{COMP_WORDS[COMP_CWORD]}}" words="{" ".join(COMMANDS)}"
    if [ "$COMP_CWORD" -gt 1 ]; then
        case "${{COMP_WORDS[1]}}" in
{cases}
        *) words="" ;;
        esac
    fi
    COMPREPLY=($(compgen -W "$words" -- "$current") $(compgen -f -- "$current"))
}}
complete -o filenames -F _zerograd zerograd"""


def _fish(options: dict[str, list[str]]) -> str:
    lines = [
        f"complete -c zerograd -n __fish_use_subcommand -a {name} -d '{about}'" for name, about in COMMANDS.items()
    ]
    for name, words in options.items():
        seen = f"__fish_seen_subcommand_from {name}"
        lines += [f"complete -c zerograd -n '{seen}' {_fish_word(word)}" for word in words]
    return "\n".join(lines)


def _fish_word(word: str) -> str:
    """A long option, a short one, or a word that may follow."""
    bare = word.lstrip("-")
    return f"{('-a', '-s', '-l')[len(word) - len(bare)]} {bare}"
