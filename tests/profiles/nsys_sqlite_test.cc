#include <cstdio>
#include <fstream>

#include "estimator/core/error.h"
#include "tests/profiles/fixture.h"
#include "tests/profiles/sqlite_text.h"

namespace dlcost {
namespace {

// The tables of `nsys export --type sqlite` that dlcost reads, with two ranges on one thread; the
// kernel of the first runs while the second is open.
constexpr char kNsysExport[] = R"(
CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
INSERT INTO StringIds VALUES (1, 'conv_kernel(float*)'), (2, 'cudaLaunchKernel'), (3, 'relu1');
CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT, textId INTEGER, globalTid INTEGER);
INSERT INTO NVTX_EVENTS VALUES (100, 200, 59, 'conv1', NULL, 7), (300, 900, 59, NULL, 3, 7), (5, NULL, 34, 'mark', NULL, 7);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, globalTid INTEGER, correlationId INTEGER, nameId INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (110, 120, 7, 41, 2), (310, 320, 7, 42, 2);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER, correlationId INTEGER,
  demangledName INTEGER, gridX INTEGER, gridY INTEGER, gridZ INTEGER, blockX INTEGER, blockY INTEGER, blockZ INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (400, 1400, 0, 7, 41, 1, 24, 1, 1, 256, 1, 1);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER, correlationId INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (1500, 1600, 0, 7, 42);
)";

TEST(NsysSqlite, KernelsBelongToTheRangeThatLaunchedThem) {
  const Measurement m = ReadText(SqliteBytes(kNsysExport));
  EXPECT_EQ(m.format, "nsys-sqlite");
  ASSERT_EQ(m.kernels.size(), 2u);
  EXPECT_EQ(m.kernels[0].name, "conv_kernel(float*)");
  EXPECT_EQ(m.kernels[0].op, "conv1");
  EXPECT_DOUBLE_EQ(m.kernels[0].duration->value(), 1e-6);
  EXPECT_EQ(m.kernels[0].grid->at(0), 24);
  EXPECT_EQ(m.kernels[1].kind, MeasuredKind::kCopy);
  EXPECT_EQ(m.kernels[1].op, "relu1");
}

TEST(NsysSqlite, FromAFile) {
  const std::string path = testing::TempDir() + "/dlcost_export.sqlite";
  std::ofstream(path, std::ios::binary) << SqliteBytes(kNsysExport);
  EXPECT_EQ(ReadMeasurementFile(path).kernels.size(), 2u);
  std::remove(path.c_str());
}

TEST(NsysSqlite, DamagedAndForeignDatabases) {
  std::string text = SqliteBytes(kNsysExport);
  EXPECT_NE(ErrorOf(text.substr(0, 5000)), "");
  EXPECT_NE(ErrorOf(std::string("SQLite format 3\0", 16)), "");
  EXPECT_EQ(ErrorOf(SqliteBytes("CREATE TABLE t (a);")),
            "profile: read as nsys-sqlite, but there is no measured kernel in it");
}

}  // namespace
}  // namespace dlcost
