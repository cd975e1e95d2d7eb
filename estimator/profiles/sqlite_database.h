#pragma once

#include <sqlite3.h>

#include <memory>
#include <string>
#include <string_view>

#include "estimator/profiles/input.h"

namespace dlcost {

// A profiler's database, opened for reading. The file is not trusted: no extensions, no views or
// triggers. Errors name the file.
class SqliteDatabase {
 public:
  explicit SqliteDatabase(Input& input);
  SqliteDatabase(const SqliteDatabase&) = delete;
  SqliteDatabase& operator=(const SqliteDatabase&) = delete;
  ~SqliteDatabase();

  bool Has(const std::string& table, const std::string& column);

  // Calls `handle` with the statement at each row.
  template <typename Handle>
  void ForEach(const std::string& sql, Handle handle) {
    const auto statement = Prepare(sql);
    while (Step(statement.get())) handle(statement.get());
  }

 private:
  using Statement = std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)>;
  Statement Prepare(const std::string& sql);
  bool Step(sqlite3_stmt* statement);
  void Check(int result) const;

  std::string name_;
  sqlite3* db_ = nullptr;
  std::string bytes_;
};

// The column's text; "" for NULL.
std::string_view SqliteText(sqlite3_stmt* row, int column);

}  // namespace dlcost
