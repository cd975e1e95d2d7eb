#include "estimator/calibrate/recorded_kernel.h"

#include <string_view>

#include "estimator/calibrate/row_calls.h"
#include "estimator/core/whole_number.h"
#include "estimator/profiles/kernel_name.h"
#include "estimator/profiles/text.h"

namespace dlcost {
namespace {

// The grid's last extent, "20x16x3": blocks that share k where the product has no batch.
Count LastExtent(const std::string& grid) {
  const std::size_t at = grid.rfind('x');
  if (at == std::string::npos) return 0;
  const auto extent = WholeNumber(std::string_view(grid).substr(at + 1));
  return extent && *extent > 0 ? Count(*extent) : Count(0);
}

bool HasOneTile(Algorithm algorithm) {
  return algorithm == Algorithm::kImplicitGemm || algorithm == Algorithm::kWinogradNonfused ||
         algorithm == Algorithm::kTiledGemm;
}

RecordedKernel OfProduct(const KernelName& name, bool turned, const LatencyRow& row) {
  RecordedKernel recorded{.algorithm = Algorithm::kTiledGemm};
  // cuBLAS is column-major: the first extent of a name covers the columns of a row-major product.
  // Not so in its xmma kernels, as 1,591 recorded grids tell.
  if (name.tile_m && name.tile_n) {
    recorded.rows = turned ? *name.tile_m : *name.tile_n;
    recorded.columns = turned ? *name.tile_n : *name.tile_m;
  }
  const std::string batch = OptionalText(row, "batch");
  if (batch.empty() || batch == "1") recorded.parts = LastExtent(OptionalText(row, "grid"));
  return recorded;
}

std::optional<RecordedKernel> OfConvolution(const KernelName& name, const LatencyRow& row) {
  RecordedKernel recorded;
  switch (MethodOf(name.algorithm)) {
    case KernelMethod::kImplicitGemm:
      recorded.algorithm = Algorithm::kImplicitGemm;
      break;
    case KernelMethod::kIm2col:
      recorded.algorithm = Algorithm::kIm2colGemm;
      break;
    case KernelMethod::kWinograd:
      recorded.algorithm = name.algorithm == KernelAlgorithm::kWinogradNonfused
                               ? Algorithm::kWinogradNonfused
                               : Algorithm::kWinograd;
      break;
    case KernelMethod::kFft:
      recorded.algorithm = Algorithm::kFft;
      break;
    default:
      // A plain product between two transforms.
      if (name.family != KernelFamily::kGemm || OptionalText(row, "algorithm") != "winograd") {
        return std::nullopt;
      }
      recorded.algorithm = Algorithm::kWinogradNonfused;
  }
  if (HasOneTile(*recorded.algorithm) && name.tile_m && name.tile_n) {
    recorded.rows = *name.tile_m;
    recorded.columns = *name.tile_n;
  }
  return recorded;
}

}  // namespace

std::string RecordedKernel::Text() const {
  std::string text;
  if (algorithm && *algorithm != Algorithm::kTiledGemm) text = Name(*algorithm);
  if (rows > Count(0)) {
    if (!text.empty()) text += ' ';
    text += fmt::format("{}x{}", rows, columns);
  }
  if (sliced) text += " sliced";
  return text;
}

std::optional<RecordedKernel> RecordedBy(LatencyKind kind, const LatencyRow& row) {
  const std::string text = OptionalText(row, "kernel");
  if (text.empty()) return std::nullopt;
  const KernelName name = ReadKernelName(text);
  std::optional<RecordedKernel> recorded;
  if (kind == LatencyKind::kGemm && name.family == KernelFamily::kGemm) {
    recorded = OfProduct(name, Contains(Lower(text), "xmma_gemm"), row);
  } else if (kind == LatencyKind::kConv) {
    recorded = OfConvolution(name, row);
  }
  if (recorded) recorded->sliced = Contains(Lower(text), "_sliced");
  return recorded;
}

RecordedKernel NamedBy(const Execution& execution) {
  RecordedKernel named{.algorithm = execution.algorithm};
  const TileGrid* grid = execution.Grid();
  if (grid == nullptr || !HasOneTile(execution.algorithm)) return named;
  named.rows = grid->tile_m;
  named.columns = grid->tile_n;
  named.sliced = grid->slices > Count(1);
  named.parts = grid->split_k;
  return named;
}

bool IsSameKernel(const RecordedKernel& recorded, const RecordedKernel& named) {
  if (recorded.algorithm && recorded.algorithm != named.algorithm) return false;
  if (recorded.rows == Count(0)) return true;
  return recorded.rows == named.rows && recorded.columns == named.columns &&
         recorded.sliced == named.sliced;
}

}  // namespace dlcost
