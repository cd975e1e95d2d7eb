#include <estimator/infer/infer.h>
#include <estimator/onnx/reader.h>
#include <estimator/report/render.h>

#include <cstdio>

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const dlcost::InferredModel model = dlcost::Infer(dlcost::ReadModel(argv[1]), {});
  const dlcost::Report report = dlcost::BuildReport(model, std::nullopt, {});
  std::printf("%s: %lld MACs\n", argv[1], static_cast<long long>(report.totals.macs.value()));
  return 0;
}
