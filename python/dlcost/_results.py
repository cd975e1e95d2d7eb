"""What dlcost's functions return. A result holds what C++ made and reads its fields when they are first asked for."""

import html as _html
import json as _json

from . import _core
from ._records import Record, Rows


class Result(Record):
    """Fields are those of the JSON schema (docs/schema); `print` shows what the command line would."""

    __slots__ = ("_made", "_parsed")

    def __init__(self, made):
        self._made = made
        self._parsed = None

    @property
    def _data(self):
        if self._parsed is None:
            self._parsed = _json.loads(self.to_json())
        return self._parsed

    def to_json(self):
        """The JSON that the command line writes with --format json."""
        return self._made.json()

    def text(self):
        return self._made.text()

    def __str__(self):
        return self.text()

    def __repr__(self):
        return f"<dlcost.{type(self).__name__}>"

    def __reduce__(self):
        return Frozen, (type(self).__name__, self.to_json(), str(self))


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


class Frozen(Record):
    """A result that came from another process: its fields and its text, without what C++ made."""

    __slots__ = ("_kind", "_json", "_text")

    def __init__(self, kind, json, text):
        self._kind, self._json, self._text = kind, json, text
        Record._data.__set__(self, _json.loads(json))

    def to_json(self):
        return self._json

    def text(self):
        return self._text

    def __str__(self):
        return self._text

    def __repr__(self):
        return f"<dlcost.{self._kind}, from another process>"

    def __reduce__(self):
        return Frozen, (self._kind, self._json, self._text)


class WithMarkdown(Result):
    __slots__ = ()

    def markdown(self):
        """For a pull request."""
        return self._made.markdown()

    def _repr_markdown_(self):
        return self.markdown()


# The fields that hold the rows of a grouping.
_GROUPINGS = {"op": "by_op", "scope": "by_scope", "phase": "step.phases", "node": "nodes", "kernel": "kernels"}


class Report(WithMarkdown, Table):
    """What a model costs: schema dlcost.report/1. As a table: its kernels."""

    __slots__ = ()
    _rows = "kernels"

    def text(self, by="op", top=0):
        """As in a terminal. `by`: op, scope, phase, node or kernel; `top`: only so many rows."""
        return self._made.text(by, top)

    def csv(self, by="op"):
        return self._made.csv(by)

    def html(self):
        """One page: table, roofline, time by module, live memory. It needs no network."""
        return self._made.html()

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
        # The page brings its own scripts and styles: in a frame, neither meets the notebook's.
        page = _html.escape(self.html(), quote=True)
        return (f'<iframe srcdoc="{page}" sandbox="allow-scripts allow-downloads" '
                'style="width:100%;height:720px;border:0"></iframe>')

    _repr_markdown_ = None  # the page instead


class Difference(WithMarkdown):
    """What somebody did to a model: schema dlcost.diff/1."""

    __slots__ = ()

    def text(self, top=0):
        return self._made.text(top)


class Verdict(WithMarkdown):
    """Whether a model keeps its limits: schema dlcost.check/1. True where it does."""

    __slots__ = ()

    def junit(self):
        return self._made.junit()

    def __bool__(self):
        return self._made.passed


class Comparison(WithMarkdown, Table):
    """Predicted beside measured: schema dlcost.compare/1."""

    __slots__ = ()
    _rows = "rows"

    def text(self, top=0):
        return self._made.text(top)

    def csv(self):
        return self._made.csv()


class Sweep(Table):
    """A model over its sizes: schema dlcost.sweep/1."""

    __slots__ = ()
    _rows = "points"

    def csv(self):
        return self._made.csv()


class Device(Result):
    """A device of the database: schema dlcost.device/1."""

    __slots__ = ()

    def text(self):
        return f"{self.name} ({self._made.id})"

    def __repr__(self):
        return f"<dlcost.Device: {self._made.id}>"
