#include "estimator/system/link_timing.h"

#include "estimator/core/error.h"
#include "estimator/hardware/section_reader.h"

namespace dlcost {
namespace {

class LinkTimingReader : SectionReader {
 public:
  explicit LinkTimingReader(const Entry& root) : SectionReader(root) {}

  LinkTiming Read(const std::string& id) {
    link_.id = id;
    Keys keys = {{"name", TextInto(link_.name)}, {"basis", TextInto(link_.basis)}};
    for (const LinkProtocol protocol : kLinkProtocols) {
      keys.emplace_back(std::string(Name(protocol)),
                        [this, protocol](const Entry& entry, const std::string& path) {
                          LinkTiming::ProtocolConstants constants;
                          Section(entry, path,
                                  {{"start", Constant(constants.start)},
                                   {"hop", Constant(constants.hop)},
                                   {"share", Share(constants.share)}});
                          link_.protocols[protocol] = constants;
                        });
    }
    keys.emplace_back("peer", Constant(link_.peer));
    keys.emplace_back("channels", Number(&link_.channels));
    keys.emplace_back("switch", [this](const Entry& entry, const std::string& path) {
      Section(entry, path,
              {{"start", Constant(link_.switch_start)}, {"share", Share(link_.switch_share)}});
    });
    keys.emplace_back("sources", [](const Entry&, const std::string&) {});
    Section(root_, "", keys);
    Require(!link_.name.empty(), "name", "name: NVLink4");
    Require(link_.protocols.count(LinkProtocol::kSimple) > 0, "Simple",
            "Simple: {start: 12 us, hop: 4 us, share: 0.7}");
    link_.facts = std::move(facts_);
    return std::move(link_);
  }

 private:
  Setter Constant(double& field) {
    return [this, &field](const Entry& entry, const std::string& path) {
      field = Quantity(entry, path, Dimension::kConstant);
    };
  }
  Setter Share(double& field) {
    return [this, &field](const Entry& entry, const std::string& path) {
      field = Quantity(entry, path, Dimension::kConstant);
      if (field <= 0 || field > 1) {
        throw Error("{}: {} is a share of the rated bandwidth, above 0 and at most 1",
                    entry.Where(), path);
      }
    };
  }

  LinkTiming link_;
};

}  // namespace

std::string_view Name(LinkProtocol protocol) {
  switch (protocol) {
    case LinkProtocol::kLL:
      return "LL";
    case LinkProtocol::kLL128:
      return "LL128";
    case LinkProtocol::kSimple:
      return "Simple";
  }
  return "";
}

LinkTiming ReadLinkTiming(const Entry& root, const std::string& id) {
  return LinkTimingReader(root).Read(id);
}

}  // namespace dlcost
