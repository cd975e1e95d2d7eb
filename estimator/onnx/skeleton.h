#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace dlcost {

// Payloads up to this many bytes are kept: enough for shapes, axes, scales and pads, far below a
// weight.
inline constexpr std::size_t kKeptPayloadBytes = 4096;

// Subgraphs and functions nested deeper than this are refused: no exporter comes near.
inline constexpr int kMaxMessageDepth = 400;

// One pass over the wire format of a serialized ModelProto: a serialized ModelProto without the
// payloads of large tensors, documentation strings and training information, small enough to parse
// with protobuf. Linear in the number of fields; dropped payloads are not read. Throws Error with
// the byte offset for anything that is not valid protobuf, and for a tensor whose payload
// contradicts its shape. `passed(offset)` is called now and then: what lies before is not looked at
// again.
std::string ExtractSkeleton(std::string_view model,
                            const std::function<void(std::size_t)>& passed = {});

}  // namespace dlcost
