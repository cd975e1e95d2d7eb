#pragma once

#include <algorithm>

#include "estimator/plan/kernel.h"
#include "estimator/roofline/timing_device.h"

namespace dlcost {

enum class AttentionPhase {
  kPrefill,  // queries of a prompt; a kernel before it writes the key-value cache
  kDecode,   // one query per sequence against the cache
  kEncoder,  // queries, keys and values as they come
};

// Fused attention: softmax(Q * K^T) * V without scores in memory.
struct AttentionProblem {
  AttentionPhase phase = AttentionPhase::kEncoder;
  bool causal = false;
  bool backward = false;  // the gradients of Q, K and V (kEncoder)
  double batch = 1, query_length = 1, key_length = 1;
  double visible = 1;  // keys that a query sees on average
  double window = 0;   // and at most, where a window cuts them; 0: none does
  double heads = 1, key_value_heads = 1, head_size = 64;
  double query_bytes = 2;                      // of one element of Q as the products read it
  double energy_width = 2;                     // EnergyWidth of that element
  double key_value_bytes = 2;                  // of one element of the cache
  double peak = 0;                             // dense matrix rate for the query type, FLOP/s
  bool tensor = true;                          // of matrix units
  AttentionForm form = AttentionForm::kFlash;  // whose kernels
  // As many blocks as units take one tile of queries after the other: cuDNN's.
  bool persistent = false;
  // How it runs, as the candidate says.
  double tile = 128;    // queries of one block's tile; in decode 1
  bool shared = false;  // decode: one block serves all queries of a key-value head
  double parts = 1;     // decode: pieces of the key length that run side by side
};

struct AttentionTime {
  double blocks = 0, waves = 0;
  double block_seconds = 0;
  double most = 1;         // share of the peak that kernels of this form do not pass
  double overlap = 0;      // exponent of the norm of units, memory and cache
  double hot_seconds = 0;  // part of the next one: what a clock within the board's power adds
  double units_seconds = 0;
  double memory_bytes = 0;
  double memory_seconds = 0;
  double cache_seconds = 0;
  double split_seconds = 0;  // adding up the parts of the key length
  double prepare_bytes = 0;
  double prepare_seconds = 0;
  double launch_seconds = 0;
  double seconds = 0;

  // What units take and what the cache delivers limit one stream (decode).
  double stream_seconds() const { return std::max(units_seconds, cache_seconds); }
};

// Whose kernels the queries of `problem` run in.
const AttentionConstants& KernelsOf(const TimingDevice& device, const AttentionProblem& problem);

AttentionTime TimeOfAttention(const TimingDevice& device, const AttentionProblem& problem,
                              const Conditions& conditions);

// Decode: whether one block serves all queries of a key-value head, where they fit.
bool PacksHeads(const TimingDevice& device, const AttentionProblem& problem);

// Decode: pieces of the key length while units are idle; `serving` blocks have one piece each.
double KeyParts(const TimingDevice& device, const AttentionProblem& problem, bool shared,
                double serving);

}  // namespace dlcost
