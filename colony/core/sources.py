"""Where the text of a setting comes from: option, variable, `.env` of the home, or default."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from colony.core import env_file
from colony.core.lines import clip
from colony.core.settings import (
    BY_NAME,
    ENVIRONMENT_ONLY,
    SET_BY_COLONY,
    SETTINGS,
    TOKEN,
    VARIABLES,
    Setting,
)
from colony.core.spelling import hint
from colony.errors import UsageProblem


def env_entries(text: str, path: str) -> tuple[dict[str, env_file.Entry], tuple[str, ...]]:
    """Colony's own variables of the `.env`, and a refusal for each line that sets nothing."""
    entries, bad = env_file.usable(text)
    problems = {each.line: str(each) for each in bad}
    own = {name: entry for name, entry in entries.items() if name.startswith("COLONY_")}
    for name, entry in own.items():
        if name in ENVIRONMENT_ONLY | SET_BY_COLONY:
            problems[entry.line] = f"{name} cannot be set here"
        elif name not in VARIABLES:
            problems[entry.line] = f"{clip(name, 80)} is no setting{hint(name, VARIABLES)}"
    lines = tuple(f"{path}:{line}: {why}" for line, why in sorted(problems.items()))
    return {name: entry for name, entry in own.items() if name in VARIABLES}, lines


@dataclass(frozen=True, slots=True)
class Sources:
    """Where values come from, the strongest first."""

    flags: Mapping[str, str]
    environ: Mapping[str, str]
    entries: Mapping[str, env_file.Entry]
    env_path: str

    def given(self, setting: Setting) -> tuple[str, str] | None:
        """The text that was set, and under which name."""
        if setting.name in self.flags:
            return self.flags[setting.name], setting.flag
        if setting.variable in self.environ:
            return self.environ[setting.variable], setting.variable
        if setting.variable in self.entries:
            entry = self.entries[setting.variable]
            return entry.value, f"{self.env_path}:{entry.line}: {setting.variable}"
        return None

    def value(self, setting: Setting) -> object:
        text, name = self.given(setting) or (setting.default, setting.variable)
        if text is None:
            return None
        try:
            return setting.kind(text)
        except ValueError as error:
            raise self.unusable(setting, str(error), text, name) from None

    def replaced(self) -> dict[str, str]:
        """Settings whose value cannot be used and gives way to the default, each with the line that
        says so."""
        lines = {}
        for setting in SETTINGS:
            try:
                if setting.lenient:
                    self.value(setting)
            except UsageProblem as problem:
                instead = f"the default {setting.default}" if setting.default else "no limit"
                lines[setting.name] = f"{problem.line}; {instead} is used"
        return lines

    def without(self, names: Iterable[str]) -> Sources:
        """The same, as if these settings were not given."""
        left = set(names)
        variables = {BY_NAME[name].variable for name in left}
        return Sources(
            {name: text for name, text in self.flags.items() if name not in left},
            {name: text for name, text in self.environ.items() if name not in variables},
            {name: entry for name, entry in self.entries.items() if name not in variables},
            self.env_path,
        )

    def unusable(self, setting: Setting, why: str, text: str = "", name: str = "") -> UsageProblem:
        if not name:
            text, name = self.given(setting) or (setting.default or "", setting.variable)
        hidden = setting.secret or TOKEN.match(text)
        shown = "" if hidden or not text else f" {clip(text, 80)}"
        return UsageProblem(f"{name}{shown}: {why}")
