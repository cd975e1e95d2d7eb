#include "estimator/compare/slice_table.h"

#include <algorithm>

#include "estimator/core/error.h"
#include "estimator/core/integer.h"
#include "estimator/report/format.h"

namespace dlcost {
namespace {

PartSum Known(std::optional<double> value) { return {value, true}; }

std::string WholeBytesText(double bytes) { return ReadableBytes(Bytes(RoundToInteger(bytes))); }
std::string FlopRateText(double rate) { return ReadableRate(rate, "FLOP"); }
std::string ByteRateText(double rate) { return ReadableRate(rate, "B"); }
std::string SecondsText(double seconds) { return ReadableTime(Seconds(seconds)); }

constexpr SliceField kFields[] = {
    {"launches", "launches", [](const SliceRow& s) { return Known(s.launches); },
     [](double value) { return CountText(value); }},
    {"measured_s", "time", [](const SliceRow& s) { return s.time; }, SecondsText},
    {"layer_s", "layer", [](const SliceRow& s) { return Known(s.layer_time); }, SecondsText},
    {"library_s", "library", [](const SliceRow& s) { return Known(s.library_time); }, SecondsText},
    {"share", "share", [](const SliceRow& s) { return Known(s.share); }, Percent},
    {"measured_flops", "FLOPs", [](const SliceRow& s) { return s.flops; },
     [](double value) { return CountText(value); }},
    {"flop_rate", "FLOP/s", [](const SliceRow& s) { return Known(s.flop_rate()); }, FlopRateText},
    {"measured_bytes", "bytes", [](const SliceRow& s) { return s.bytes; }, WholeBytesText},
    {"byte_rate", "B/s", [](const SliceRow& s) { return Known(s.byte_rate()); }, ByteRateText},
    {"intensity", "FLOP/B", [](const SliceRow& s) { return Known(s.intensity()); }, ReadableRatio},
    {"occupancy", "occupancy", [](const SliceRow& s) { return Known(s.occupancy); }, Percent},
    {"memory_bytes", "memory",
     [](const SliceRow& s) {
       return Known(s.memory ? std::optional(s.memory->AsDouble()) : std::nullopt);
     },
     WholeBytesText},
    {"allocated_bytes", "allocated", [](const SliceRow& s) { return Known(s.allocated); },
     WholeBytesText},
};

}  // namespace

std::span<const SliceField> SliceFields() { return kFields; }

CompareCells CellsOf(const SliceView& view, std::size_t top) {
  const std::vector<SliceRow>& rows = *view.rows;
  const auto any = [&](auto has) { return std::any_of(rows.begin(), rows.end(), has); };
  const bool families = any([](const SliceRow& row) { return !row.family.empty(); });
  const bool operators = any([](const SliceRow& row) { return row.operators != 1; });
  std::vector<const SliceField*> fields;
  for (const SliceField& field : kFields) {
    if (any([&](const SliceRow& row) { return field.of(row).value.has_value(); }))
      fields.push_back(&field);
  }
  CompareCells cells{.title = std::string(view.title), .head = {}, .left = {}, .rows = {}};
  const auto column = [&](std::string_view head, bool left) {
    cells.head.emplace_back(head);
    cells.left.push_back(left);
  };
  column(view.name == "op" ? "operator" : view.name, true);
  if (families) column(view.name == "layer" ? "operator" : "family", true);
  if (operators) column("operators", false);
  for (const SliceField* field : fields) column(field->head, false);
  const std::size_t shown = top == 0 ? rows.size() : std::min(top, rows.size());
  for (std::size_t r = 0; r < shown; ++r) {
    std::vector<std::string> texts = {Printable(rows[r].key, 60)};
    if (families) texts.push_back(Printable(rows[r].family, 24));
    if (operators) texts.push_back(std::to_string(rows[r].operators));
    for (const SliceField* field : fields) {
      const PartSum sum = field->of(rows[r]);
      texts.push_back(sum.value ? (sum.whole ? "" : "\u2265 ") + field->text(*sum.value) : "-");
    }
    cells.rows.push_back(std::move(texts));
  }
  cells.left_out = rows.size() - shown;
  return cells;
}

}  // namespace dlcost
