"""Models of one matrix product or a few, as ONNX bytes, without a library: the wire format of protobuf is small."""


def varint(value):
    out = b""
    while value > 0x7F:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def field(number, value):
    """A field of a message: text and bytes with their length, integers as they are."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def tensor(name, shape):
    """A ValueInfoProto of type float."""
    dims = b"".join(field(1, field(1, extent)) for extent in shape)
    return field(1, name) + field(2, field(1, field(1, 1) + field(2, dims)))


def node(op, inputs, output, name):
    return (b"".join(field(1, i) for i in inputs) + field(2, output) + field(3, name) + field(4, op))


def weight(name, shape):
    """A TensorProto of type float that has a shape and no data."""
    return b"".join(field(1, extent) for extent in shape) + field(2, 1) + field(8, name)


def model(nodes, inputs, outputs, weights=()):
    """`nodes`: (operator, inputs, output, name); `inputs`, `outputs`, `weights`: (name, shape)."""
    graph = b"".join(field(1, node(*n)) for n in nodes) + field(2, "small")
    graph += b"".join(field(5, weight(*w)) for w in weights)
    graph += b"".join(field(11, tensor(*i)) for i in inputs) + b"".join(field(12, tensor(*o)) for o in outputs)
    return field(1, 8) + field(7, graph) + field(8, field(1, "") + field(2, 17))


def product(m, n, k, name="MatMul"):
    return model([("MatMul", ["a", "b"], "c", name)], [("a", (m, k)), ("b", (k, n))], [("c", (m, n))])
