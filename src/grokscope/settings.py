"""Frozen, keyword-only settings: read from plain dicts with clear errors, written to plain dicts, equal after a round trip.

A field may hold settings itself: those of a component chosen by name from a registry (`component`), or a fixed group (`group`).
Everything below works at any depth, with dotted names such as ``model.attention.temperature``.
"""

from __future__ import annotations

import dataclasses
import functools
import typing
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Self, TypeVar, get_args, get_origin

from .coerce import coerce
from .errors import ConfigError, named, nearest_setting, shown, within

if TYPE_CHECKING:
    from .registry import Registry

S = TypeVar("S", bound="Settings")
DEEPEST = 50
"""Most levels of nested tables that are read."""

PLAIN = frozenset({str, int, float, bool, list, type(None)})
"""Types of plain values that are not tables of settings."""


class ComponentField(NamedTuple):
    """A field that holds nested settings."""

    default: type[Settings]
    registry: Registry[Any] | None
    """Registry of its kinds; None for a fixed group of settings."""

    def table(self, value: Any, path: str) -> dict[str, Any]:
        """`value` as a table of settings; a plain name, as in ``attention = "linear"``, chooses the kind."""
        if isinstance(value, str) and self.registry is not None:
            return {"kind": value}
        if not isinstance(value, Mapping):
            raise ConfigError(path, f"{shown(value)} is not a table of settings")
        return dict(value)

    def kind_of(self, table: Mapping[str, Any]) -> str:
        """The kind that a table chooses, or the default."""
        return str(table.get("kind", self.default.kind))

    def choose(self, table: Mapping[str, Any], path: str) -> type[Settings]:
        """The class of that kind."""
        if self.registry is None or "kind" not in table:
            return self.default
        try:
            chosen: type[Settings] = self.registry.get(table["kind"])
        except ConfigError as error:
            raise ConfigError(path, error.problem) from None
        _check_class(chosen, path, table["kind"])  # type: ignore[arg-type]
        return chosen

    def read(self, value: Any, path: str) -> Settings:
        """The settings that a plain value stands for."""
        table = self.table(value, path)
        return self.choose(table, path).from_dict(table, path=path)


def setting(default: Any, *, since: int = 1, choices: Registry[Any] | None = None) -> Any:
    """A field with a default, added to its class in version `since` of the settings; `choices` is the registry of its names.

    A field with `since` > 1 stays out of a run's id while it has its default, so that adding it changes no id. For the same
    reason its default may never change.
    """
    return dataclasses.field(default=default, metadata={"since": since, "choices": choices})


def component(registry: Registry[Any], default: type[Settings], *, since: int = 1) -> Any:
    """A field that holds a component, chosen by name from `registry`; an instance of `default` if none is chosen.

    In a class of settings: ``attention: Attention = component(attentions, Softmax)``. Users then write
    ``model.attention = "linear"``, or ``{kind = "softmax", temperature = 2.0}``, or ``--set model.attention.temperature=2``.
    """
    held = ComponentField(default, registry)
    return dataclasses.field(default_factory=default, metadata={"component": held, "since": since})


def group(default: type[Settings], *, since: int = 1, identity: bool = True) -> Any:
    """A field that holds a fixed group of settings.

    identity   False for settings that do not change a run's numbers, such as ``log`` and ``stop``: they stay out of its id
    """
    held = ComponentField(default, None)
    return dataclasses.field(
        default_factory=default, metadata={"component": held, "since": since, "identity": identity}
    )


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Base of every component's config.

    A subclass lists its fields with defaults and a docstring each, derives the rest as properties, and rejects invalid
    settings in `check`. Fields named in `LANES` are numbers that may differ between runs trained in one program: inside the
    fleet they are scalar tensors, so arithmetic on them must be torch's.
    """

    kind: ClassVar[str] = ""
    LANES: ClassVar[tuple[str, ...]] = ()
    HOST: ClassVar[tuple[str, ...]] = ()
    """Fields that affect only the data or initial weights of a run: they may also differ between lanes."""

    def __post_init__(self) -> None:
        """A component may be given as the name of its kind, or as a dict of its settings."""
        for name, held in self.component_fields().items():
            value = getattr(self, name)
            if not isinstance(value, Settings):
                object.__setattr__(self, name, held.read(value, name))

    def __init_subclass__(cls, **how: Any) -> None:
        super().__init_subclass__(**how)
        if "__repr__" not in vars(cls):  # otherwise @dataclass writes one, with every field
            cls.__repr__ = Settings.__repr__  # type: ignore[method-assign]

    def __repr__(self) -> str:
        """A call that makes equal settings: what differs from the defaults; `to_dict` has every value."""
        return f"{type(self).__qualname__}({', '.join(self._differing())})"

    def _differing(self) -> Iterator[str]:
        for f in dataclasses.fields(self):
            value, default = getattr(self, f.name), _default(f)
            if type(value) is not type(default) or value != default:
                yield f"{f.name}={value!r}"

    @classmethod
    def component_fields(cls) -> Mapping[str, ComponentField]:
        """The fields that hold nested settings."""
        return _component_fields(cls)  # type: ignore[arg-type]

    @classmethod
    def names(cls) -> Iterator[str]:
        """The dotted name of every setting of every kind; one that several kinds have comes several times."""
        for f in dataclasses.fields(cls):
            yield f.name
            if held := cls.component_fields().get(f.name):
                kinds = held.registry.entries().values() if held.registry is not None else [held.default]
                yield from (f"{f.name}.{inner}" for kind in kinds for inner in kind.names())

    @classmethod
    def choices(cls, name: str) -> list[str]:
        """The valid values of a field that is a choice among names; empty for any other field."""
        (field,) = (f for f in dataclasses.fields(cls) if f.name == name)
        if registry := field.metadata.get("choices"):
            return list(registry.entries())
        hint = _hints(cls)[name]  # type: ignore[arg-type]
        return [choice for choice in get_args(hint) if choice] if get_origin(hint) is Literal else []

    def components(self) -> dict[str, Settings]:
        """The nested settings by field."""
        return {name: getattr(self, name) for name in self.component_fields()}

    def check(self) -> Any:
        """Raise ConfigError(field, problem) for an invalid setting."""

    def check_components(self) -> None:
        """Check the nested settings; errors give the dotted name from here, e.g. ``attention.temperature``."""
        for name, settings in self.components().items():
            with within(name):
                settings.check_components()
                settings.check()

    def conversions(self, path: str = "") -> dict[str, Any]:
        """The fields whose values are not of their type, with the values that they stand for, as 1e4 for an integer; ConfigError
        for one that stands for none. Only for settings of numbers: inside the fleet they are tensors."""
        found: dict[str, Any] = {}
        for name, default, hint in _plain_fields(type(self)):  # type: ignore[arg-type]
            value = getattr(self, name)
            if value is default or type(value) is hint:
                continue
            converted = coerce(f"{path}{name}", hint, value)
            if type(converted) is not type(value) or converted != value:
                found[name] = converted
        for name in self.component_fields():
            value = getattr(self, name)
            if _KNOWN in vars(value):  # 100,000 configs that differ in their seed share their components
                continue
            inner = value.conversions(f"{path}{name}.")
            if inner:
                found[name] = dataclasses.replace(value, **inner)
            object.__setattr__(found.get(name, value), _KNOWN, True)
        return found

    def to_dict(self) -> dict[str, Any]:
        """Plain values by field; nested settings are dicts, with their ``kind`` where it is a choice."""
        plain: dict[str, Any] = {"kind": self.kind} if self.kind else {}
        for f in dataclasses.fields(self):
            value = getattr(self, f.name)
            plain[f.name] = value.to_dict() if isinstance(value, Settings) else _plain(value)
        return plain

    def changes(self) -> dict[str, Any]:
        """As `to_dict`, without values that equal their default; the ``kind`` of a component is always included."""
        plain: dict[str, Any] = {"kind": self.kind} if self.kind else {}
        defaults = type(self)()
        for f in dataclasses.fields(self):
            value = getattr(self, f.name)
            if value != getattr(defaults, f.name):
                plain[f.name] = value.changes() if isinstance(value, Settings) else _plain(value)
        return plain

    def identity(self) -> dict[str, Any]:
        """As `to_dict`, restricted to settings that change a run's numbers: its id is a hash of this.

        Fields added later (see `setting`) are omitted while they have their default, and so are groups that only evaluate or
        stop a run. A component with no settings besides its kind is represented by the kind.
        """
        plain: dict[str, Any] = {"kind": self.kind} if self.kind else {}
        hints = _hints(type(self))  # type: ignore[arg-type]
        for f in dataclasses.fields(self):
            value = getattr(self, f.name)
            added_later = f.metadata.get("since", 1) > 1
            if not f.metadata.get("identity", True) or (added_later and value == _default(f)):
                continue
            if isinstance(value, Settings):
                plain[f.name] = value._within_identity
            else:
                plain[f.name] = float(value) if hints[f.name] is float else _plain(value)
        return plain

    @functools.cached_property  # thousands of candidates of a search share all components but one
    def _within_identity(self) -> Any:
        """What the identity of settings that hold these has in their place; nobody may write to it."""
        own = self.identity()
        return own["kind"] if own.keys() == {"kind"} else own

    @functools.cached_property
    def depends_on_epochs(self) -> bool:
        """Whether the numbers of an epoch depend on which one is the last, as under a cosine schedule. If not, a stored run can
        be continued to a later epoch."""
        return any(settings.depends_on_epochs for settings in self.components().values())

    def lane_values(self) -> dict[str, float]:
        """The `LANES` fields as numbers, by dotted name; a choice among strings becomes its index in the list of choices."""
        hints = _hints(type(self))  # type: ignore[arg-type]
        values = {}
        for name in self.LANES:
            value = getattr(self, name)
            values[name] = float(get_args(hints[name]).index(value) if isinstance(value, str) else value)
        for name, settings in self.components().items():
            values |= {f"{name}.{own}": value for own, value in settings.lane_values().items()}
        return values

    def with_values(self, values: Mapping[str, Any]) -> Self:
        """These settings with other values by dotted name, unconverted: the counterpart of `lane_values`."""
        own = {name: value for name, value in values.items() if "." not in name}
        deeper: dict[str, dict[str, Any]] = {}
        for name, value in values.items():
            field, _, rest = name.partition(".")
            if rest:
                deeper.setdefault(field, {})[rest] = value
        replaced = {field: getattr(self, field).with_values(inner) for field, inner in deeper.items()}
        return dataclasses.replace(self, **own, **replaced)

    def structure(self) -> dict[str, Any]:
        """The settings that runs must have in common to train in one program."""
        plain = self.to_dict() | {name: settings.structure() for name, settings in self.components().items()}
        return {name: value for name, value in plain.items() if name not in (*self.LANES, *self.HOST)}

    @classmethod
    def respell(cls, plain: dict[str, Any]) -> dict[str, Any]:
        """Plain values with other spellings of the same values (such as − for -) replaced; called before they are read."""
        return plain

    @classmethod
    def from_dict(cls: type[S], plain: Mapping[str, Any], *, path: str = "") -> S:
        """Settings from plain values; missing values take their default.

        path   their position in a larger config, for error messages
        """
        if not isinstance(plain, Mapping):
            raise ConfigError(path or "config", f"{shown(plain)} is not a table of settings")
        prefix = f"{path}." if path else ""
        names = [f.name for f in dataclasses.fields(cls)]
        values = {}
        for name, value in cls.respell(dict(plain)).items():
            if name == "kind" and cls.kind:
                if value != cls.kind:
                    raise ConfigError(f"{prefix}kind", f"{shown(value)} is not {cls.kind}")
                continue
            if name not in names:
                choices, unknown = [prefix + n for n in cls.names()], prefix + named(name)
                raise ConfigError(unknown, f"no such setting. {nearest_setting(unknown, choices)}")
            values[name] = cls.read_field(name, value, path=path)
        return cls(**values)

    @classmethod
    def without_unknown(cls, plain: Mapping[str, Any], *, path: str = "") -> tuple[dict[str, Any], list[str]]:
        """Plain values without settings unknown to this version, and the dotted names of those.

        For configs written by an older or newer version; ConfigError for a component that is not registered.
        """
        names = {f.name for f in dataclasses.fields(cls)} | ({"kind"} if cls.kind else set())
        known: dict[str, Any] = {}
        unknown = []
        for name, value in plain.items():
            where = f"{path}.{name}" if path else name
            held = cls.component_fields().get(name)
            if name not in names:
                unknown.append(where)
            elif held is None:
                known[name] = value
            else:
                table = held.table(value, where)
                known[name], inner = held.choose(table, where).without_unknown(table, path=where)
                unknown += inner
        return known, unknown

    @classmethod
    def read_field(cls, name: str, value: Any, *, path: str = "") -> Any:
        """The value of one field from a plain one."""
        where = f"{path}.{name}" if path else name
        held = cls.component_fields().get(name)
        return held.read(value, where) if held else coerce(where, _hints(cls)[name], value)  # type: ignore[arg-type]


@functools.cache
def _check_class(chosen: Any, path: str, kind: str) -> None:
    """Refuse a registered class that cannot hold settings, or that would ignore some of those it declares."""
    if not (isinstance(chosen, type) and issubclass(chosen, Settings)):
        problem = "is not a class of settings; derive it from the base class of its component"
    elif missing := [
        name for name, hint in vars(chosen).get("__annotations__", {}).items() if _forgotten(chosen, name, hint)
    ]:
        problem = f"declares {', '.join(missing)} without @dataclass(frozen=True, kw_only=True)"
    elif bare := [f.name for f in dataclasses.fields(chosen) if f.init and _default(f) is dataclasses.MISSING]:
        problem = f"has no default for {', '.join(bare)}; every setting needs one"
    else:
        try:
            _hints(chosen)  # type: ignore[arg-type]
        except (NameError, TypeError) as error:
            problem = f"has an annotation that cannot be read: {error}"
        else:
            return
    raise ConfigError(path, f"{kind} ({getattr(chosen, '__qualname__', shown(chosen))}) {problem}")


def _forgotten(settings: type[Settings], name: str, hint: Any) -> bool:
    """Whether an annotated name did not become a field."""
    return "ClassVar" not in str(hint) and name not in {f.name for f in dataclasses.fields(settings)}


_KNOWN = "_converted"
"""Marks settings whose values are known to be of their types; no field, so equality and ids do not see it."""


@functools.cache
def _plain_fields(settings: Any) -> list[tuple[str, Any, Any]]:
    """Name, default and type of the fields that hold plain values."""
    own = [f for f in dataclasses.fields(settings) if f.init and "component" not in f.metadata]
    return [(f.name, f.default, _hints(settings)[f.name]) for f in own]


@functools.cache
def _hints(settings: Any) -> dict[str, Any]:
    """The types of a class's fields, cached because looking them up is slow."""
    return typing.get_type_hints(settings)


@functools.cache
def _component_fields(settings: Any) -> dict[str, ComponentField]:
    return {f.name: f.metadata["component"] for f in dataclasses.fields(settings) if "component" in f.metadata}


def _default(f: dataclasses.Field[Any]) -> Any:
    return f.default_factory() if callable(f.default_factory) else f.default


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def require(condition: bool, field: str, problem: str) -> None:
    """Raise ConfigError(field, problem) unless `condition` holds."""
    if not condition:
        raise ConfigError(field, problem)


def flatten(tree: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """{"task": {"p": 97}} → {"task.p": 97}; ConfigError for tables nested deeper than any settings are."""
    flat: dict[str, Any] = {}
    _add_flat(flat, tree, prefix)
    return flat


def _add_flat(flat: dict[str, Any], tree: Mapping[str, Any], prefix: str) -> None:
    if prefix.count(".") > DEEPEST:
        raise ConfigError(named(prefix), "is nested too deeply")
    for name, value in tree.items():
        # Exact types first: the check for a mapping is slow, and thousands of configs are flattened.
        if type(value) is dict or (type(value) not in PLAIN and isinstance(value, Mapping)):
            _add_flat(flat, value, f"{prefix}{name}.")
        else:
            flat[prefix + name] = value
