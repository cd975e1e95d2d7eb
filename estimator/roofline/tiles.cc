#include "estimator/roofline/tiles.h"

#include <cmath>

namespace dlcost {
namespace {

constexpr Tile kTensor[] = {{256, 128}, {128, 256}, {128, 128}, {128, 64}, {64, 128},
                            {64, 256},  {256, 64},  {64, 64},   {32, 128}, {128, 32},
                            {64, 32},   {32, 64},   {16, 64},   {16, 128}};
constexpr Tile kVector[] = {{128, 128}, {128, 64}, {64, 128}, {64, 64}, {128, 32},
                            {32, 128},  {64, 32},  {32, 64},  {32, 32}};
constexpr Tile kVectorBatched[] = {{128, 128}, {128, 64}, {128, 32}, {64, 64}, {64, 32}};
constexpr Tile kConv[] = {{128, 128}, {128, 64}, {128, 32}, {64, 64},  {64, 32}, {64, 128},
                          {32, 128},  {32, 32},  {128, 16}, {256, 16}, {128, 8}};
constexpr int kSplits[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32};

}  // namespace

double RoundUp(double value, double multiple) { return std::ceil(value / multiple) * multiple; }

std::span<const Tile> TensorTiles() { return kTensor; }
std::span<const Tile> VectorTiles() { return kVector; }
std::span<const Tile> VectorBatchedTiles() { return kVectorBatched; }
std::span<const Tile> ConvTiles() { return kConv; }
std::span<const int> KSplits() { return kSplits; }

}  // namespace dlcost
