"""What the package onnxruntime-extensions registers with onnxruntime: names, domains, types.

The library tells nobody but onnxruntime, so this stands in for it: the C interface (a table of
functions, fixed in its order) with those functions replaced that take new operators.
"""

import ctypes
import glob
import os

# Positions in the table OrtApi (onnxruntime_c_api.h; entries are only ever added at its end).
CREATE_DOMAIN, DOMAIN_ADD, ADD_DOMAIN, COPIED = 26, 27, 28, 200
# Positions in OrtCustomOp, in pointers: the version, then functions of the operator.
GET_NAME, GET_INPUT_TYPE, NUM_INPUTS, GET_OUTPUT_TYPE, NUM_OUTPUTS = 2, 4, 5, 6, 7


def registered(runtime_folder, library):
    """[(domain, name, input types, output types)]; types are the numbers of TensorProto."""
    (path,) = glob.glob(os.path.join(runtime_folder, "capi", "libonnxruntime.so.*"))
    runtime = ctypes.CDLL(path)
    runtime.OrtGetApiBase.restype = ctypes.c_void_p
    pointer, table = ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p)
    base = ctypes.cast(runtime.OrtGetApiBase(), table)
    get_api = ctypes.CFUNCTYPE(pointer, ctypes.c_uint32)
    domains, operators, alive = [], [], []

    @ctypes.CFUNCTYPE(pointer, ctypes.c_char_p, pointer)
    def create_domain(name, out):
        domains.append(name.decode())
        ctypes.cast(out, table)[0] = len(domains)
        return 0

    @ctypes.CFUNCTYPE(pointer, pointer, pointer)
    def domain_add(domain, operator):
        members = ctypes.cast(operator, table)

        def ask(member, result, *arguments):
            kinds = [ctypes.c_size_t] * len(arguments)
            return ctypes.CFUNCTYPE(result, pointer, *kinds)(members[member])(operator, *arguments)

        def types(member, count):
            return [ask(member, ctypes.c_int, i) for i in range(ask(count, ctypes.c_size_t))]

        operators.append((domains[domain - 1], ask(GET_NAME, ctypes.c_char_p).decode(),
                          types(GET_INPUT_TYPE, NUM_INPUTS), types(GET_OUTPUT_TYPE, NUM_OUTPUTS)))
        return 0

    @ctypes.CFUNCTYPE(pointer, pointer, pointer)
    def add_domain(_options, _domain):
        return 0

    @get_api
    def api(version):
        real = get_api(base[0])(version)
        if not real:
            return None
        copy = (pointer * COPIED)()
        ctypes.memmove(copy, real, ctypes.sizeof(copy))
        for position, function in ((CREATE_DOMAIN, create_domain), (DOMAIN_ADD, domain_add),
                                   (ADD_DOMAIN, add_domain)):
            copy[position] = ctypes.cast(function, pointer).value
        alive.append(copy)
        return ctypes.addressof(copy)

    own_base = (pointer * 2)(ctypes.cast(api, pointer).value, base[1])
    register = ctypes.CDLL(library).RegisterCustomOps
    register.restype = pointer
    if register(pointer(1), ctypes.byref(own_base)):
        raise RuntimeError("the library registers nothing")
    return operators
