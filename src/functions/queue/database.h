// SQLite behind Status: one connection, which no other process may share while it is open. One
// thread at a time. Source: sqlite.org/c3ref.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "src/platform/base/status.h"

struct sqlite3;
struct sqlite3_stmt;

namespace kgpu::functions {

// A statement with its values. Must not outlive its database.
class Statement {
 public:
  // The values of "?" in their order. `text` must outlive the statement. Errors come from Step.
  Statement& Bind(int64_t number);
  Statement& Bind(std::string_view text);
  Statement& BindBytes(std::string_view bytes);

  // True: a row is there. False: the statement has ended. Errors: those of Database.
  StatusOr<bool> Step();
  // For a statement whose rows do not matter.
  Status Run();
  // Of the row, from column 0. A text is valid until the next Step.
  int64_t Number(int column) const;
  std::string_view Text(int column) const;

 private:
  friend class Database;
  struct Finalizer {
    void operator()(sqlite3_stmt* statement) const;
  };
  Statement(sqlite3* database, sqlite3_stmt* statement)
      : database_(database), statement_(statement) {}

  sqlite3* database_;
  std::unique_ptr<sqlite3_stmt, Finalizer> statement_;
  int bound_ = 0;
  int bind_error_ = 0;
};

class Database {
 public:
  // Makes the file if there is none. Errors: Unavailable (another process has it open, or the disk
  // fails), ResourceExhausted (the disk is full), PermissionDenied, DataLoss (not a database, or a
  // damaged one).
  static StatusOr<Database> Open(const std::string& path);

  // One or more statements without values. Errors: as Open.
  Status Run(const char* sql);
  // Errors: as Open; Internal (our SQL is wrong).
  StatusOr<Statement> Prepare(std::string_view sql);
  // The first column of the first row. Errors: as Prepare; NotFound (no row).
  StatusOr<int64_t> Number(std::string_view sql);
  int64_t last_row() const;
  int64_t changes() const;
  // Whether a transaction is open. SQLite itself ends one when the disk is full, for instance.
  bool is_in_transaction() const;

 private:
  struct Closer {
    void operator()(sqlite3* database) const;
  };
  explicit Database(sqlite3* database) : database_(database) {}

  std::unique_ptr<sqlite3, Closer> database_;
};

}  // namespace kgpu::functions
