#include "estimator/profiles/sqlite_database.h"

#include "estimator/core/error.h"

namespace dlcost {

SqliteDatabase::SqliteDatabase(Input& input) : name_(input.name()) {
  const std::string uri = input.path().empty() ? ":memory:" : input.path();
  try {
    Check(sqlite3_open_v2(uri.c_str(), &db_, SQLITE_OPEN_READONLY, nullptr));
    if (input.path().empty()) {
      // SQLite promises not to write to a read-only database, but takes a pointer to mutable bytes.
      bytes_.assign(input.memory().begin(), input.memory().end());
      Check(sqlite3_deserialize(db_, "main", reinterpret_cast<unsigned char*>(bytes_.data()),
                                static_cast<sqlite3_int64>(bytes_.size()),
                                static_cast<sqlite3_int64>(bytes_.size()),
                                SQLITE_DESERIALIZE_READONLY));
    }
  } catch (...) {
    sqlite3_close(db_);
    throw;
  }
  sqlite3_db_config(db_, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(db_, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(db_, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  sqlite3_limit(db_, SQLITE_LIMIT_VDBE_OP, 100'000);
}

SqliteDatabase::~SqliteDatabase() { sqlite3_close(db_); }

bool SqliteDatabase::Has(const std::string& table, const std::string& column) {
  bool found = false;
  // Names are ours, never the file's.
  ForEach("SELECT 1 FROM pragma_table_info('" + table + "') WHERE name = '" + column + "'",
          [&](sqlite3_stmt*) { found = true; });
  return found;
}

SqliteDatabase::Statement SqliteDatabase::Prepare(const std::string& sql) {
  sqlite3_stmt* raw = nullptr;
  Check(sqlite3_prepare_v2(db_, sql.c_str(), -1, &raw, nullptr));
  return {raw, sqlite3_finalize};
}

bool SqliteDatabase::Step(sqlite3_stmt* statement) {
  const int result = sqlite3_step(statement);
  if (result != SQLITE_ROW && result != SQLITE_DONE) Check(result);
  return result == SQLITE_ROW;
}

void SqliteDatabase::Check(int result) const {
  if (result == SQLITE_OK) return;
  throw Error(
      "{}: SQLite cannot read it ({}); export it again with 'nsys export --type sqlite' or "
      "'nvprof --export-profile'",
      name_, db_ ? sqlite3_errmsg(db_) : sqlite3_errstr(result));
}

std::string_view SqliteText(sqlite3_stmt* row, int column) {
  const unsigned char* text = sqlite3_column_text(row, column);
  return text ? reinterpret_cast<const char*>(text) : "";
}

}  // namespace dlcost
