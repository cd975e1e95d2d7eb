// The database inside the program against the files that it was made from.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "estimator/core/error.h"
#include "estimator/hardware/database.h"
#include "estimator/hardware/entry.h"
#include "estimator/hardware/spec_files.h"

namespace dlcost {
namespace {

namespace fs = std::filesystem;

const std::string kFiles = std::string(DLCOST_SOURCE_DIR) + "/hw_specs";
const std::string kEmbedded(kEmbeddedDatabase);

void ExpectSame(const Entry& a, const Entry& b) {
  EXPECT_EQ(a.kind, b.kind);
  EXPECT_EQ(a.key, b.key);
  EXPECT_EQ(a.value, b.value);
  EXPECT_EQ(a.source, b.source);
  EXPECT_EQ(a.elsewhere, b.elsewhere);
  EXPECT_EQ(a.note, b.note);
  EXPECT_EQ(a.differs, b.differs);
  EXPECT_EQ(a.line, b.line);
  ASSERT_EQ(a.children.size(), b.children.size()) << a.Where();
  for (std::size_t i = 0; i < a.children.size(); ++i) ExpectSame(a.children[i], b.children[i]);
}

TEST(Embedded, HoldsEveryFileWordForWord) {
  int files = 0;
  for (const auto& file : fs::recursive_directory_iterator(kFiles)) {
    if (file.path().extension() != ".yaml") continue;
    const std::string below = file.path().lexically_relative(kFiles).generic_string();
    ExpectSame(LoadEntries(file.path().string()), LoadEmbedded(kEmbedded + "/" + below));
    ++files;
  }
  EXPECT_GT(files, 100);
}

TEST(Embedded, DevicesAreThoseOfTheFiles) {
  const DeviceDatabase files({kFiles}), embedded({kEmbedded});
  EXPECT_EQ(files.Ids(), embedded.Ids());
  const std::vector<Device> a = files.All(), b = embedded.All();
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].id, b[i].id);
    EXPECT_EQ(a[i].name, b[i].name);
    EXPECT_EQ(a[i].aliases, b[i].aliases);
    for (const std::string& alias : a[i].aliases) {
      EXPECT_EQ(embedded.Find(alias).id, a[i].id) << alias;
    }
  }
}

TEST(Embedded, NamesAreFoundInAnyCaseAndUnknownOnesCorrected) {
  const DeviceDatabase database({kEmbedded});
  EXPECT_EQ(database.Find("A100").id, "a100-sxm4-80gb");
  EXPECT_EQ(database.Find("V100-SXM2-16GB").id, "v100-sxm2-16gb");
  EXPECT_THAT([&] { database.Find("h10o"); },
              testing::ThrowsMessage<Error>(testing::HasSubstr("did you mean 'h100")));
  // An architecture is no device.
  EXPECT_THROW(database.Find("ampere-8.0"), Error);
  EXPECT_THROW(LoadEmbedded(kEmbedded + "/nothing.yaml"), Error);
}

TEST(Embedded, FoldersAreFoundByTheirNames) {
  const auto systems = SpecFolders({kFiles, kEmbedded}, "systems");
  ASSERT_EQ(systems, (std::vector<std::string>{kFiles + "/systems", kEmbedded + "/systems"}));
  for (const std::string& name : SpecNames({systems[0]})) {
    const auto file = LocateSpec({systems[0]}, name), embedded = LocateSpec({systems[1]}, name);
    ASSERT_TRUE(file && embedded) << name;
    EXPECT_EQ(file->stem(), embedded->stem()) << name;
  }
  EXPECT_EQ(SpecNames({systems[0]}), SpecNames({systems[1]}));
  // What is in a folder is not in the folder that it is in.
  EXPECT_EQ(LocateSpec({kEmbedded}, "dgx-h100"), std::nullopt);
  EXPECT_EQ(LocateSpec(systems, "nvlink4"), std::nullopt);
  EXPECT_EQ(LocateSpec(SpecFolders({kFiles}, "systems/links"), "NVLink4"),
            fs::path(kFiles) / "systems/links/nvlink4.yaml");
  EXPECT_EQ(SpecFolders({kEmbedded}, "nothing"), std::vector<std::string>{});
  // A directory of devices alone has the runtimes that are built in.
  EXPECT_EQ(SpecFolders({kFiles + "/arch"}, "runtimes"),
            std::vector<std::string>{kEmbedded + "/runtimes"});
}

TEST(Embedded, OwnFilesExtendBuiltInOnes) {
  const fs::path directory = fs::path(testing::TempDir()) / "dlcost_embedded";
  fs::create_directories(directory);
  const fs::path file = directory / "mine.yaml";
  FILE* out = std::fopen(file.c_str(), "w");
  ASSERT_NE(out, nullptr);
  std::fputs("name: Mine\nextends: a100\npower: 300 W [derived from nothing]\n", out);
  std::fclose(out);
  const DeviceDatabase database({directory.string(), kEmbedded});
  EXPECT_EQ(database.Find("mine").name, "Mine");
  EXPECT_EQ(database.Find("a100").id, "a100-sxm4-80gb");
  EXPECT_EQ(database.Find(file.string()).id, "mine");
  // DLCOST_HW_SPECS replaces the built-in database, wherever it is.
  ASSERT_EQ(setenv("DLCOST_HW_SPECS", kFiles.c_str(), 1), 0);
  EXPECT_EQ(DeviceDatabase::FromEnvironment().directories(), std::vector<std::string>{kFiles});
  ASSERT_EQ(unsetenv("DLCOST_HW_SPECS"), 0);
  EXPECT_EQ(DeviceDatabase::FromEnvironment().directories(), std::vector<std::string>{kEmbedded});
  fs::remove_all(directory);
}

}  // namespace
}  // namespace dlcost
