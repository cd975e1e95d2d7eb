#include "estimator/cli/job_options.h"

#include "estimator/core/dtype_spelling.h"
#include "estimator/core/error.h"
#include "estimator/core/integer.h"
#include "estimator/request/leading_number.h"

namespace dlcost {

void AddJobOptions(CLI::App& app, JobOptions& options) {
  AddModelOptions(app, options.model);
  AddDeviceOptions(app, options.device);
  AddCountOptions(app, options.count);
  AddSystemOption(app, options.system);
}

void AddSystemOption(CLI::App& app, std::string& system, const std::string& help) {
  app.add_option("--system", system, help)->type_name("NAME");
}

void AddSpreadOption(CLI::App& app, double& percent) {
  app.add_option("--spread", percent,
                 "standard deviation of the devices' speeds: a step is that of the slowest")
      ->type_name("PERCENT")
      ->capture_default_str();
}

void AddGradientOptions(CLI::App& app, GradientTexts& texts) {
  app.add_option("--bucket", texts.bucket, "gradients that are sent together")
      ->type_name("SIZE")
      ->capture_default_str();
  app.add_flag("--no-overlap", texts.serial, "send gradients after the backward pass");
  app.add_option("--gradients", texts.type, "type to send them in: fp32, fp16 or bf16")
      ->type_name("TYPE");
}

void AddSumOptions(CLI::App& app, GradientTexts& texts) {
  app.add_option("--sums", texts.sums,
                 "type that gradients of micro-batches add up in: fp32, fp16 or bf16")
      ->type_name("TYPE");
  app.add_flag("--fuse-sums", texts.fused, "products add their gradients up themselves");
}

GradientOptions ParseGradients(const GradientTexts& texts) {
  for (const auto& [option, text] :
       {std::pair("--gradients", texts.type), std::pair("--sums", texts.sums)}) {
    if (text.empty()) continue;
    const DType type = ReadDType(option, text);
    if (type != DType::kFloat32 && type != DType::kFloat16 && type != DType::kBfloat16) {
      throw Error("{} '{}': fp32, fp16 or bf16", option, Printable(text));
    }
  }
  const double bucket = ParseWith("--bucket", texts.bucket, Dimension::kByteSize);
  return {{Bytes(RoundToInteger(bucket)), !texts.serial, texts.fused}, texts.type, texts.sums};
}

void AddInputOptions(CLI::App& app, InputTexts& options) {
  app.add_option("--item", options.item, "size of an item on the device")->type_name("SIZE");
  app.add_option("--stored", options.stored, "its size in storage, where that differs")
      ->type_name("SIZE");
  app.add_option("--storage", options.storage, "what storage reads, for a node")->type_name("RATE");
  app.add_option("--decode", options.decode, "items/s that one core decodes")->type_name("RATE");
  app.add_option("--augment", options.augment, "items/s that one core augments")->type_name("RATE");
  app.add_option("--cores", options.cores, "of the host")->type_name("N");
  app.add_option("--host-link", options.host_link, "from host to one device")->type_name("RATE");
}

InputOptions ParseInput(const InputTexts& texts) {
  const auto quantity = [](const char* option, const std::string& text, Dimension dimension) {
    return text.empty() ? std::nullopt : std::optional(ParseWith(option, text, dimension));
  };
  const auto rate = [](const char* option, const std::string& text) {
    return text.empty() ? std::nullopt : std::optional(ParseItemRate(option, text));
  };
  return {
      .item_bytes = quantity("--item", texts.item, Dimension::kByteSize),
      .stored_bytes = quantity("--stored", texts.stored, Dimension::kByteSize),
      .storage_bytes_per_s = quantity("--storage", texts.storage, Dimension::kByteRate),
      .host_link_bytes_per_s = quantity("--host-link", texts.host_link, Dimension::kByteRate),
      .decode_items_per_s = rate("--decode", texts.decode),
      .augment_items_per_s = rate("--augment", texts.augment),
      .cores = texts.cores,
  };
}

double ParseItemRate(const std::string& option, const std::string& text) {
  const std::optional<LeadingNumber> rate = ParseLeadingNumber(text);
  if (!rate || !rate->rest.empty()) {
    throw Error("{} '{}': items per second, such as 1050", option, Printable(text));
  }
  return rate->value;
}

double ParseWith(const std::string& option, const std::string& text, Dimension dimension) {
  try {
    return ParseQuantity(text, dimension);
  } catch (const Error& error) {
    throw error.At(option);
  }
}

}  // namespace dlcost
