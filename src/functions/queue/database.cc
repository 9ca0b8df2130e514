#include "src/functions/queue/database.h"

#include <sqlite3.h>

#include <utility>

#include "src/platform/base/status_macros.h"

namespace kgpu::functions {
namespace {

constexpr int kPrimaryCode = 0xff;  // an extended code carries its primary one in the low byte

StatusCode StatusCodeOf(int code) {
  switch (code & kPrimaryCode) {
    case SQLITE_FULL:
    case SQLITE_NOMEM:
    case SQLITE_TOOBIG:
      return StatusCode::kResourceExhausted;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return StatusCode::kDataLoss;
    case SQLITE_PERM:
    case SQLITE_READONLY:
    case SQLITE_AUTH:
      return StatusCode::kPermissionDenied;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
    case SQLITE_INTERRUPT:
      return StatusCode::kUnavailable;
    default:
      return StatusCode::kInternal;
  }
}

Status DatabaseStatus(int code, sqlite3* database) {
  if ((code & kPrimaryCode) == SQLITE_BUSY) {
    return Unavailable("another process has it open: end it");
  }
  return MakeStatus(StatusCodeOf(code),
                    database == nullptr ? sqlite3_errstr(code) : sqlite3_errmsg(database));
}

}  // namespace

void Statement::Finalizer::operator()(sqlite3_stmt* statement) const {
  (void)sqlite3_finalize(statement);
}

Statement& Statement::Bind(int64_t number) {
  const int code = sqlite3_bind_int64(statement_.get(), ++bound_, number);
  bind_error_ = bind_error_ == 0 ? code : bind_error_;
  return *this;
}

Statement& Statement::Bind(std::string_view text) {
  const char* start = text.data() == nullptr ? "" : text.data();  // null would be SQL's NULL
  const int code = sqlite3_bind_text64(statement_.get(), ++bound_, start, text.size(),
                                       SQLITE_STATIC, SQLITE_UTF8);
  bind_error_ = bind_error_ == 0 ? code : bind_error_;
  return *this;
}

Statement& Statement::BindBytes(std::string_view bytes) {
  const char* start = bytes.data() == nullptr ? "" : bytes.data();
  const int code =
      sqlite3_bind_blob64(statement_.get(), ++bound_, start, bytes.size(), SQLITE_STATIC);
  bind_error_ = bind_error_ == 0 ? code : bind_error_;
  return *this;
}

StatusOr<bool> Statement::Step() {
  if (bind_error_ != SQLITE_OK) {
    return DatabaseStatus(bind_error_, database_);
  }
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW || code == SQLITE_DONE) {
    return code == SQLITE_ROW;
  }
  return DatabaseStatus(code, database_);
}

Status Statement::Run() {
  while (true) {
    ASSIGN_OR_RETURN(const bool has_row, Step());
    if (!has_row) {
      return OkStatus();
    }
  }
}

int64_t Statement::Number(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

std::string_view Statement::Text(int column) const {
  const void* bytes = sqlite3_column_blob(statement_.get(), column);
  const int size = sqlite3_column_bytes(statement_.get(), column);
  return bytes == nullptr
             ? std::string_view()
             : std::string_view(static_cast<const char*>(bytes), static_cast<size_t>(size));
}

void Database::Closer::operator()(sqlite3* database) const {
  (void)sqlite3_close_v2(database);
}

StatusOr<Database> Database::Open(const std::string& path) {
  sqlite3* opened = nullptr;
  const int code = sqlite3_open_v2(
      path.c_str(), &opened,
      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE,
      nullptr);
  Database database(opened);  // there even if it could not be opened
  if (code != SQLITE_OK) {
    return DatabaseStatus(code, opened);
  }
  return database;
}

Status Database::Run(const char* sql) {
  const int code = sqlite3_exec(database_.get(), sql, nullptr, nullptr, nullptr);
  return code == SQLITE_OK ? OkStatus() : DatabaseStatus(code, database_.get());
}

StatusOr<Statement> Database::Prepare(std::string_view sql) {
  sqlite3_stmt* statement = nullptr;
  const int code = sqlite3_prepare_v2(database_.get(), sql.data(), static_cast<int>(sql.size()),
                                      &statement, nullptr);
  Statement prepared(database_.get(), statement);
  if (code != SQLITE_OK) {
    return DatabaseStatus(code, database_.get());
  }
  return prepared;
}

StatusOr<int64_t> Database::Number(std::string_view sql) {
  ASSIGN_OR_RETURN(Statement statement, Prepare(sql));
  ASSIGN_OR_RETURN(const bool has_row, statement.Step());
  if (!has_row) {
    return NotFound("no row");
  }
  return statement.Number(0);
}

int64_t Database::last_row() const {
  return sqlite3_last_insert_rowid(database_.get());
}

int64_t Database::changes() const {
  return sqlite3_changes64(database_.get());
}

bool Database::is_in_transaction() const {
  return sqlite3_get_autocommit(database_.get()) == 0;
}

}  // namespace kgpu::functions
