"""What dlcost's functions return. A result holds what C++ made and reads its fields when they are first asked for."""

import html as _html
import json as _json

from . import _core
from ._errors import integer
from ._records import Record, Rows


class Result(Record):
    """Fields are those of the JSON schema (docs/schema); `print` shows what the command line would.

    A result travels between processes as its JSON and its text: fields, tables and `print` are there on the other side.
    """

    __slots__ = ("_held", "_kept", "_parsed")

    def __init__(self, made):
        self._held, self._kept, self._parsed = made, None, None

    @property
    def _made(self):
        """What C++ made."""
        if self._held is None:
            self._held = self._made_again()
        return self._held

    def _made_again(self):
        raise _core.Error(f"a {type(self).__name__} from another process has its fields, its tables and its text alone")

    @property
    def _data(self):
        if self._parsed is None:
            self._parsed = _json.loads(self.to_json())
        return self._parsed

    def to_json(self):
        """The JSON that the command line writes with --format json."""
        return self._kept[0] if self._kept else self._made.json()

    def text(self):
        return str(self) if self._kept else self._text()

    def _text(self, *arguments):
        return self._made.text(*arguments)

    def __str__(self):
        return self._kept[1] if self._kept else self.text()

    def __repr__(self):
        return f"<dlcost.{type(self).__name__}>"

    def __reduce__(self):
        return _unpacked, (type(self), self.to_json(), str(self))


def _unpacked(kind, json, text):
    result = kind(None)
    result._kept = json, text
    return result


class Table(Result):
    """A result that is a table first of all: pyarrow.table(result), polars.DataFrame(result)."""

    __slots__ = ()
    _rows = ""  # where the rows are in the JSON

    def __arrow_c_stream__(self, requested_schema=None):
        return self._table().__arrow_c_stream__(requested_schema)

    def _table(self, rows=None):
        return _core.Table(self.to_json(), rows or self._rows)

    def to_arrow(self):
        """Columns in C++'s memory, which pyarrow takes as they are."""
        import pyarrow
        return pyarrow.table(self)

    def to_pandas(self):
        return getattr(self, self._rows).to_pandas()


def _framed(page):
    # The page brings its own scripts and styles: in a frame, neither meets the notebook's.
    page = _html.escape(page, quote=True)
    return (f'<iframe srcdoc="{page}" sandbox="allow-scripts allow-downloads" '
            'style="width:100%;height:720px;border:0"></iframe>')


class WithText(Result):
    """Shows itself in a notebook as in a terminal."""

    __slots__ = ()

    def _repr_html_(self):
        return f"<pre>{_html.escape(str(self))}</pre>"


class WithMarkdown(Result):
    __slots__ = ()

    def markdown(self):
        """For a pull request."""
        return self._made.markdown()

    def _repr_markdown_(self):
        return None if self._held is None else self.markdown()


# The fields that hold the rows of a grouping.
_GROUPINGS = {"op": "by_op", "scope": "by_scope", "phase": "step.phases", "node": "nodes", "kernel": "kernels"}


class Report(WithMarkdown, Table):
    """What a model costs: schema dlcost.report/1. As a table: its kernels."""

    __slots__ = ()
    _rows = "kernels"

    def text(self, by="op", top=0, columns=(), plot=False):
        """As in a terminal. `by`: op, scope, phase, story, layer, node or kernel; `top`: only so many rows; `columns`: only
        these, "macs,expected" or a list; `plot`: with the roofline in characters.
        """
        names = columns.split(",") if isinstance(columns, str) and columns else list(columns)
        if self._kept and (by, top, names, plot) == ("op", 0, [], False):
            return str(self)
        return self._text(by, integer("top", top), names, bool(plot))

    def _made_again(self):
        return _core.Report.from_json(self.to_json(), "the report")

    def csv(self, by="op", top=0):
        return self._made.csv(by, integer("top", top))

    def markdown(self, by="op", top=0):
        """For a pull request."""
        return self._made.markdown(by, integer("top", top))

    def view(self, view, node=""):
        """gemm: products with tiles, waves and padding; work: what kernels execute, term by term, of all or of one node's."""
        return self._made.view(view, node)

    def perfetto(self):
        """The kernels over time, for ui.perfetto.dev."""
        return self._made.perfetto()

    def speedscope(self):
        """Where the time goes, for speedscope.app."""
        return self._made.speedscope()

    def annotated_model(self):
        """The bytes of the model's file with the costs as metadata of its nodes, which Netron shows."""
        return self._made.annotated_model()

    def html(self, title=""):
        """One page: table, roofline, time by module, live memory. It needs no network."""
        return self._made.html(title)

    def svg(self, picture, dark=False, title=""):
        """A picture for slides: roofline, memory (what is live over the run) or icicle (where the time goes)."""
        return self._made.svg(picture, dark, title)

    def rows(self, by="kernel"):
        """The rows of a grouping: op, scope, phase, node or kernel."""
        if by not in _GROUPINGS:
            raise _core.Error(f"by '{by}' is not one of {', '.join(_GROUPINGS)}")
        if by == "phase":
            return self.step.phases if "step" in self else Rows()
        return getattr(self, _GROUPINGS[by])

    def to_pandas(self, by="kernel"):
        return self.rows(by).to_pandas()

    def to_arrow(self, by="kernel"):
        if by not in _GROUPINGS or (by == "phase" and "step" not in self):
            return self.rows(by).to_arrow()
        import pyarrow
        return pyarrow.table(self._table(_GROUPINGS[by]))

    def __repr__(self):
        device = self.device
        on = f" on {device.id}" if device else ""
        return f"<dlcost.Report: {self.model.path}{on}, {self.totals.macs} MACs, {self.totals.bytes} bytes>"

    def _repr_html_(self):
        return _framed(self.html())

    _repr_markdown_ = None  # the page instead


class Difference(WithMarkdown):
    """What somebody did to a model: schema dlcost.diff/1."""

    __slots__ = ()

    def text(self, top=0):
        return str(self) if self._kept and top == 0 else self._text(top)

    def markdown(self, top=0):
        """For a pull request."""
        return self._made.markdown(integer("top", top))

    def html(self, title=""):
        """One page of both reports."""
        return self._made.html(title)


class Verdict(WithMarkdown):
    """Whether a model keeps its limits: schema dlcost.check/1. True where it does."""

    __slots__ = ()

    def junit(self):
        return self._made.junit()

    def github(self):
        """GitHub's workflow commands: an error per failure, a warning per note."""
        return self._made.github()

    def __bool__(self):
        return self.passed


class Comparison(WithMarkdown, Table):
    """Predicted beside measured: schema dlcost.compare/1."""

    __slots__ = ()
    _rows = "rows"

    def text(self, top=0, by=()):
        """As in a terminal. `by`: tables by layer, op, kernel (its name) or algorithm as well."""
        names = [by] if isinstance(by, str) else list(by)
        return str(self) if self._kept and (top, names) == (0, []) else self._text(integer("top", top), names)

    def markdown(self, top=0, by=()):
        """For a pull request."""
        return self._made.markdown(integer("top", top), [by] if isinstance(by, str) else list(by))

    def outside(self, low, high):
        """Nodes whose measured FLOPs over predicted ones (times, where no FLOPs were measured) lie outside."""
        return self._made.outside(low, high)

    def csv(self):
        return self._made.csv()

    def html(self, title=""):
        """The page of what was measured."""
        return self._made.html(title)

    def report_html(self, title=""):
        """The page of the report, with what was measured of each kernel."""
        return self._made.report_html(title)


class Sweep(Table):
    """A model over its sizes: schema dlcost.sweep/1."""

    __slots__ = ()
    _rows = "points"

    def text(self, rows=60, plot=False):
        """As in a terminal. `rows`: of the table of points; `plot`: throughput over size in characters."""
        return str(self) if self._kept and (rows, plot) == (60, False) else self._text(integer("rows", rows), bool(plot))

    def csv(self):
        return self._made.csv()

    def svg(self, dark=False, title=""):
        """A picture for slides: throughput over size."""
        return self._made.svg(dark, title)

    def html(self):
        """One page: curves over one size, a heat map over two."""
        return self._made.html()

    def _repr_html_(self):
        return None if self._held is None else _framed(self.html())


class Ranking(WithText, Table):
    """A model on several devices: schema dlcost.comparison/1. As a table: its devices."""

    __slots__ = ()
    _rows = "devices"

    def csv(self):
        return self._made.csv()


class InputBounds(WithText, Table):
    """What bounds a training, from storage to the devices: schema dlcost.input/1. As a table: its stages."""

    __slots__ = ()
    _rows = "stages"


class FittedRuns(WithText, Table):
    """Measured runs against powers of a size: schema dlcost.fit/1. As a table: its terms."""

    __slots__ = ()
    _rows = "terms"


class Formula(WithText):
    """Counts as functions of sizes: schema dlcost.formula/1. As a table: its quantities."""

    __slots__ = ()

    def text(self, by="op"):
        """As in a terminal. `by`: op or scope."""
        return str(self) if self._kept and by == "op" else self._text(by)

    def at(self, quantity, sizes=None, **more):
        """A quantity ("macs", "bytes.default", ...) at sizes of all variables: at("macs", batch=8) or at("macs", {"x[2]": 48})."""
        given = {**(sizes or {}), **more}
        return self._made.at(quantity, {name: integer(name, size) for name, size in given.items()})

    def latex(self):
        return self._made.latex()

    def python(self):
        """Functions to paste, one for each quantity: whole numbers, exact."""
        return self._made.python()

    def cpp(self):
        return self._made.cpp()

    def rows(self):
        names = ("quantity", "title", "formula", "python")
        return Rows(Record(dict(zip(names, (cell or None for cell in row)))) for row in self._made.quantities())

    def to_pandas(self):
        return self.rows().to_pandas()

    def to_arrow(self):
        return self.rows().to_arrow()


class Explanation(WithText, Table):
    """The expected time of one kernel: schema dlcost.explain/2. As a table: its terms."""

    __slots__ = ()
    _rows = "terms"


class ParallelPlans(WithText, Table):
    """Steps by several plans, the best first: schema dlcost.parallel/1."""

    __slots__ = ()
    _rows = "plans"

    def text(self, top=10):
        return str(self) if self._kept and top == 10 else self._text(top)


class Scaling(WithText, Table):
    """A training on several numbers of devices: schema dlcost.scale/1."""

    __slots__ = ()
    _rows = "points"

    def perfetto(self):
        """The step on the last number of devices over time, for ui.perfetto.dev."""
        return self._made.perfetto()


class Collectives(WithText, Table):
    """Exchanges of data: schema dlcost.collective/1."""

    __slots__ = ()
    _rows = "rows"


_MEASURED = ("kernels", "by_name", "by_family", "by_op_type", "by_op", "by_module", "copies", "calls")


class Measured(WithMarkdown):
    """What profilers' files tell: schema dlcost.measured/1. As a table: the kernels of all files."""

    __slots__ = ()

    def text(self, top=20):
        return str(self) if self._kept and top == 20 else self._text(top)

    def csv(self):
        return self._made.csv()

    def html(self, title=""):
        return self._made.html(title)

    def rows(self, by="kernels"):
        """The rows of a grouping, of all files one after another: kernels, by_name, by_family, by_op_type, by_op, by_module."""
        if by not in _MEASURED:
            raise _core.Error(f"by '{by}' is not one of {', '.join(_MEASURED)}")
        return Rows(Record({"file": profile.file, **row.to_dict()}) for profile in self.profiles for row in profile.get(by, ()))

    def to_pandas(self, by="kernels"):
        return self.rows(by).to_pandas()

    def to_arrow(self, by="kernels"):
        return self.rows(by).to_arrow()

    def _repr_html_(self):
        return None if self._held is None else _framed(self.html())

    _repr_markdown_ = None  # the page instead


class System(WithText):
    """Many devices and what joins them: schema dlcost.system/1."""

    __slots__ = ("_asked",)

    def __init__(self, made, asked):
        super().__init__(made)
        self._asked = asked  # by which another process finds it

    def __repr__(self):
        return f"<dlcost.System: {self._made.id}>"

    def __reduce__(self):
        return find_system, (self._asked,)


def find_system(name):
    return System(_core.find_system(name), name)


class Device(Result):
    """A device of the database: schema dlcost.device/1."""

    __slots__ = ("_asked",)

    def __init__(self, made, asked):
        super().__init__(made)
        self._asked = asked  # name and changes, by which another process finds it

    def __repr__(self):
        return f"<dlcost.Device: {self._made.id}>"

    def __reduce__(self):
        return find, self._asked


def find(name, changes):
    return Device(_core.find_device(name, changes), (name, changes))
