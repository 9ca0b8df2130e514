#include "src/functions/provider/loan_client.h"

#include <boost/json/value.hpp>

#include <algorithm>
#include <utility>

#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/doc/doc.h"
#include "src/platform/doc/fields.h"
#include "src/platform/doc/json_reader.h"
#include "src/platform/doc/json_texts.h"

namespace kgpu::functions {
namespace {

constexpr char kAnswerWhere[] = "the agent's answer";
constexpr char kLoansPath[] = "/v1/loans";
constexpr char kCheckPath[] = "/v1/loans/check";

// What podman's --mount takes as it is.
bool IsMountPath(const std::string& path) {
  return path.starts_with('/') && std::ranges::all_of(path, [](char c) {
           return c >= ' ' && c <= '~' && c != ',' && c != '"';
         });
}

StatusOr<std::vector<LoanMount>> ReadMounts(const boost::json::value& list) {
  if (!list.is_array()) {
    return InvalidArgument("{}: mounts: must be a list", kAnswerWhere);
  }
  std::vector<LoanMount> mounts;
  for (const boost::json::value& item : list.get_array()) {
    doc::Fields fields(item, fmt::format("{}: mounts", kAnswerWhere));
    LoanMount mount{.source = fields.Text("source"),
                    .target = fields.Text("target"),
                    .is_read_only = fields.Bool("readOnly")};
    RETURN_IF_ERROR(fields.status());
    if (!IsMountPath(mount.source) || !IsMountPath(mount.target)) {
      return InvalidArgument(
          "{}: mounts: \"{}\" on \"{}\": podman needs absolute paths without commas and "
          "quotes: start the agent with another --state-dir",
          kAnswerWhere, Printable(mount.source), Printable(mount.target));
    }
    mounts.push_back(std::move(mount));
  }
  return mounts;
}

StatusOr<Loan> ReadLoan(const boost::json::value& value) {
  doc::Fields fields(value, kAnswerWhere);
  Loan loan{.id = fields.Text("id"),
            .holder = fields.Text("holder"),
            .devices = fields.Texts("devices"),
            .uuids = fields.Texts("uuids")};
  if (fields.Has("problem")) {
    loan.problem = fields.Text("problem");
  }
  if (fields.Has("mounts")) {
    ASSIGN_OR_RETURN(loan.mounts, ReadMounts(fields.Get("mounts")));
  }
  RETURN_IF_ERROR(fields.status());
  if (loan.id.empty() || loan.devices.empty()) {
    return InvalidArgument("{}: must have an id and devices", kAnswerWhere);
  }
  return loan;
}

// The reason in {"error": text}, or the answer itself.
std::string ReasonOf(const http::Response& response) {
  const StatusOr<boost::json::value> body = doc::ParseJson(response.body, kAnswerWhere, {});
  if (body.ok() && body->is_object()) {
    doc::Fields fields(*body, kAnswerWhere);
    if (const std::string text = fields.Text("error"); fields.status().ok()) {
      return text;
    }
  }
  return Printable(Trim(response.body));
}

Status RefusalOf(const http::Response& response) {
  const std::string reason = ReasonOf(response);
  switch (response.code) {
    case 409:
      return ResourceExhausted("{}", reason);
    case 400:
    case 422:
      return FailedPrecondition("{}", reason);
    case 404:
    case 405:
      return FailedPrecondition(
          "the agent does not know this request: it is older than this program: update and restart "
          "it");
    default:
      return Unavailable("the agent answered {}: {}", response.code, reason);
  }
}

Status Unreached(const Status& status, const std::string& socket) {
  return Unavailable("{}: no agent answers: start it with kgpu fn up, or kgpu agent: {}", socket,
                     Message(status));
}

http::Request BorrowRequest(const char* path, const std::string& holder, const GpuRequest& gpus) {
  boost::json::object body{{"holder", holder}, {"count", gpus.count}};
  body["models"] = doc::Texts(gpus.models);
  if (gpus.memory) {
    body["memory"] = *gpus.memory;
  }
  http::Request request{.method = "POST", .target = path};
  request.headers.Add("Content-Type", "application/json");
  request.body = doc::PrintLine(body);
  return request;
}

}  // namespace

StatusOr<Loan> ParseLoan(std::string_view json) {
  ASSIGN_OR_RETURN(const boost::json::value root, doc::ParseJson(json, kAnswerWhere, {}));
  return ReadLoan(root);
}

StatusOr<std::vector<Loan>> ParseLoans(std::string_view json) {
  ASSIGN_OR_RETURN(const boost::json::value root, doc::ParseJson(json, kAnswerWhere, {}));
  doc::Fields fields(root, kAnswerWhere);
  const boost::json::value& list = fields.Get("loans");
  RETURN_IF_ERROR(fields.status());
  if (!list.is_array()) {
    return InvalidArgument("{}: loans: must be a list", kAnswerWhere);
  }
  std::vector<Loan> loans;
  for (const boost::json::value& item : list.get_array()) {
    ASSIGN_OR_RETURN(Loan loan, ReadLoan(item));
    loans.push_back(std::move(loan));
  }
  return loans;
}

void LoanClient::Borrow(const std::string& holder, const GpuRequest& gpus,
                        std::function<void(StatusOr<Loan>)> done) {
  Send(BorrowRequest(kLoansPath, holder, gpus),
       [this, done = std::move(done)](StatusOr<http::Response> response) {
         if (!response.ok()) {
           return done(Unreached(response.status(), socket_));
         }
         if (response->code != 200 && response->code != 201) {
           return done(RefusalOf(*response));
         }
         done(ParseLoan(response->body));
       });
}

void LoanClient::Check(const std::string& holder, const GpuRequest& gpus,
                       std::function<void(Status)> done) {
  Send(BorrowRequest(kCheckPath, holder, gpus),
       [this, done = std::move(done)](StatusOr<http::Response> response) {
         if (!response.ok()) {
           return done(Unreached(response.status(), socket_));
         }
         done(response->code < 300 ? OkStatus() : RefusalOf(*response));
       });
}

void LoanClient::Return(const std::string& id, std::function<void(Status)> done) {
  const http::Request request{.method = "DELETE", .target = fmt::format("{}/{}", kLoansPath, id)};
  Send(request, [this, done = std::move(done)](StatusOr<http::Response> response) {
    if (!response.ok()) {
      return done(Unreached(response.status(), socket_));
    }
    done(response->code < 300 ? OkStatus() : RefusalOf(*response));
  });
}

void LoanClient::List(std::function<void(StatusOr<std::vector<Loan>>)> done) {
  const http::Request request{.target = fmt::format("{}?holder={}", kLoansPath, kHolderPrefix)};
  Send(request, [this, done = std::move(done)](StatusOr<http::Response> response) {
    if (!response.ok()) {
      return done(Unreached(response.status(), socket_));
    }
    if (response->code != 200) {
      return done(RefusalOf(*response));
    }
    done(ParseLoans(response->body));
  });
}

void LoanClient::Send(const http::Request& request, http::Call::Done done) {
  const uint64_t number = ++last_;
  calls_[number] =
      http::Call::Start(loop_, socket_, request,
                        [this, number, done = std::move(done)](StatusOr<http::Response> response) {
                          // Destroys the call, which holds this function: what it needs is copied
                          // first.
                          const http::Call::Done copy = done;
                          const std::unique_ptr<http::Call> call = std::move(calls_[number]);
                          calls_.erase(number);
                          copy(std::move(response));
                        },
                        {.timeout = std::chrono::seconds(10)});
}

}  // namespace kgpu::functions
