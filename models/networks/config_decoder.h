#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "models/networks/config_reader.h"
#include "models/networks/decoder.h"

namespace dlcost::networks {

// What the configurations of decoders say alike, under the keys that most of them use. Throw Error
// naming the key.

// An activation by its name in transformers, which stands under `key`.
std::string ActivationNamed(const std::string& name, const std::string& key);
std::string ActivationOf(const ConfigReader& config, const std::string& otherwise);

// A node and a few per layer: no more than an untrusted file may ask for.
std::size_t LayersOf(const ConfigReader& config, const std::string& key);

DecoderConfig DecoderOf(const ConfigReader& config);

// Heads of `head_dim`, or of an equal part of the width. All of a head is rotated.
void SetHeads(const ConfigReader& config, DecoderConfig& decoder);

// The share of a head that is rotated, under `key` or among `rope_parameters`.
void SetPartialRotation(const ConfigReader& config, const std::string& key, double otherwise,
                        DecoderConfig& decoder);

inline constexpr auto kEveryLayer = [](std::size_t) { return true; };
// Windows of the layers that `layer_types` names, or else of those that `has_window` says.
void SetWindows(const ConfigReader& config, DecoderConfig& decoder,
                const std::function<bool(std::size_t)>& has_window);

}  // namespace dlcost::networks
