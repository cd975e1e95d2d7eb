"""Parts of results: the JSON objects of docs/schema with attributes, and lists of them as tables."""


class Record:
    """An object of a result. Its fields are attributes, and keys where a name is no identifier."""

    __slots__ = ("_data",)

    def __init__(self, data):
        self._data = data

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return wrap(self._data[name])
        except KeyError:
            known = ", ".join(self._data)
            raise AttributeError(f"no field '{name}'; there are {known}") from None

    def __getitem__(self, name):
        return wrap(self._data[name])

    def __contains__(self, name):
        return name in self._data

    def __iter__(self):
        return iter(self._data)

    def __len__(self):
        return len(self._data)

    def keys(self):
        return self._data.keys()

    def get(self, name, default=None):
        return wrap(self._data[name]) if name in self._data else default

    def __dir__(self):
        return [*super().__dir__(), *(key for key in self._data if key.isidentifier())]

    def __eq__(self, other):
        return isinstance(other, Record) and self._data == other._data

    __hash__ = None

    def __reduce__(self):
        return type(self), (self._data,)

    def to_dict(self):
        """Plain dictionaries, lists, numbers and text."""
        return self._data

    def __repr__(self):
        fields = ", ".join(f"{key}={short(value)}" for key, value in self._data.items())
        return f"{type(self).__name__}({fields})"


class Rows(list):
    """A list of records that is a table, too."""

    def __getitem__(self, index):
        found = super().__getitem__(index)
        return Rows(found) if isinstance(index, slice) else found

    def to_dicts(self):
        return [row.to_dict() for row in self]

    def columns(self):
        """The cells by column, in the order in which columns first come; fields of nested objects as 'work.add'."""
        rows = [flat(row.to_dict()) for row in self]
        names = dict.fromkeys(name for row in rows for name in row)
        return {name: [row.get(name) for row in rows] for name in names}

    def to_pandas(self):
        import pandas
        return pandas.DataFrame(self.columns())

    def to_arrow(self):
        import pyarrow
        return pyarrow.table(self.columns())


def wrap(value):
    if isinstance(value, dict):
        return Record(value)
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return Rows(Record(item) for item in value)
    if isinstance(value, list) and not value:
        return Rows()
    return value


def flat(data, prefix=""):
    cells = {}
    for key, value in data.items():
        if isinstance(value, dict):
            cells.update(flat(value, f"{prefix}{key}."))
        else:
            cells[prefix + key] = value
    return cells


def short(value):
    if isinstance(value, dict):
        return "{...}" if value else "{}"
    if isinstance(value, list) and len(value) > 3:
        return f"[{len(value)} items]"
    return repr(value)
