// The stream against the tree of the JSON library: the same bytes.

#include "estimator/report/json_writer.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "estimator/hardware/database.h"
#include "estimator/report/render.h"
#include "tests/infer/small_model.h"

namespace dlcost {
namespace {

std::string Dump(const nlohmann::ordered_json& json) {
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

TEST(JsonWriter, WritesWhatTheLibraryWrites) {
  const std::vector<std::string> texts = {
      "", "plain", "a \"quote\" and \\", "\t\n\x01", "\xc3\xa4öß", "broken \xff\xfe", "\x7f"};
  const std::vector<double> numbers = {0,
                                       -0.0,
                                       1,
                                       1e-7,
                                       0.1,
                                       1.0 / 3,
                                       1e15,
                                       1e16,
                                       1e22,
                                       5e-324,
                                       123456,
                                       2.5e-6,
                                       std::numeric_limits<double>::max(),
                                       std::numeric_limits<double>::infinity()};
  std::string text;
  JsonWriter json([&](std::string_view piece) { text += piece; });
  json.BeginObject();
  json.Member("texts", texts);
  json.Member("numbers", numbers);
  json.Member("least", std::numeric_limits<std::int64_t>::min());
  json.Member("most", Count(std::numeric_limits<std::int64_t>::max()));
  json.Member("bytes", Bytes(7));
  json.Member("nothing", std::optional<Seconds>());
  json.Member("truth", true);
  json.Key("empty").BeginObject();
  json.EndObject();
  json.Member("none", std::vector<std::int64_t>());
  json.Key("rows \"in\" a list").BeginArray();
  for (const std::int64_t i : {1, 2}) {
    json.BeginObject();
    json.Member("i", i);
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
  json.Finish();
  const nlohmann::ordered_json expected = {{"texts", texts},
                                           {"numbers", numbers},
                                           {"least", std::numeric_limits<std::int64_t>::min()},
                                           {"most", std::numeric_limits<std::int64_t>::max()},
                                           {"bytes", 7},
                                           {"nothing", nullptr},
                                           {"truth", true},
                                           {"empty", nlohmann::ordered_json::object()},
                                           {"none", nlohmann::ordered_json::array()},
                                           {"rows \"in\" a list", {{{"i", 1}}, {{"i", 2}}}}};
  EXPECT_EQ(text, Dump(expected));
}

TEST(JsonWriter, HandsOnPiecesOfBoundedSize) {
  std::size_t most = 0, all = 0;
  JsonWriter json([&](std::string_view piece) {
    most = std::max(most, piece.size());
    all += piece.size();
  });
  json.BeginArray();
  for (std::int64_t i = 0; i < 100'000; ++i) json.Value(i);
  json.EndArray();
  json.Finish();
  EXPECT_GT(all, 500'000U);
  EXPECT_LT(most, 70'000U);
}

// A whole report, with what few have: attributes, types, an unknown node, a name of odd bytes.
TEST(JsonWriter, AReportIsWhatTheLibraryWouldPrint) {
  SmallModel model;
  model.Input("x", {1, 3, 8, 8}).Weight("w", {4, 3, 3, 3});
  SetInts(model.AddNode("Conv", {"x", "w"}, {"y"}), "strides", {2, 2});
  model.AddNode("Mystery", {"y"}, {"z"}).set_name("odd \xff \"name\"");
  model.Output("z");
  const InferredModel inferred = model.Infer();
  const DeviceDatabase database({std::string(DLCOST_SOURCE_DIR) + "/hw_specs"});
  for (const std::optional<Device>& device :
       {std::optional<Device>(), std::optional<Device>(database.Find("a100"))}) {
    const std::string text = RenderJson(BuildReport(inferred, device, {}));
    EXPECT_EQ(text, Dump(nlohmann::ordered_json::parse(text)));
  }
}

}  // namespace
}  // namespace dlcost
