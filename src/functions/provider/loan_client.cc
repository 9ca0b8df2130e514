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

// Whether podman's --mount takes the path as it is.
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

StatusOr<std::string> BodyOf(const StatusOr<http::Response>& response, const std::string& socket) {
  constexpr int kFirstUnsuccessful = 300;
  if (!response.ok()) {
    return Unavailable("{}: no agent answers: start it with kgpu fn up, or kgpu agent: {}", socket,
                       Message(response.status()));
  }
  return response->code < kFirstUnsuccessful ? StatusOr<std::string>(response->body)
                                             : RefusalOf(*response);
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
       [done = std::move(done)](const StatusOr<std::string>& body) {
         done(body.ok() ? ParseLoan(*body) : body.status());
       });
}

void LoanClient::Check(const std::string& holder, const GpuRequest& gpus,
                       std::function<void(Status)> done) {
  Send(BorrowRequest(kCheckPath, holder, gpus),
       [done = std::move(done)](const StatusOr<std::string>& body) { done(body.status()); });
}

void LoanClient::Return(const std::string& id, std::function<void(Status)> done) {
  Send({.method = "DELETE", .target = fmt::format("{}/{}", kLoansPath, id)},
       [done = std::move(done)](const StatusOr<std::string>& body) { done(body.status()); });
}

void LoanClient::List(std::function<void(StatusOr<std::vector<Loan>>)> done) {
  Send({.target = fmt::format("{}?holder={}", kLoansPath, kHolderPrefix)},
       [done = std::move(done)](const StatusOr<std::string>& body) {
         done(body.ok() ? ParseLoans(*body) : body.status());
       });
}

void LoanClient::Send(const http::Request& request, Answered answered) {
  const uint64_t number = ++last_;
  calls_[number] = http::Call::Start(
      loop_, socket_, request,
      [this, number, answered = std::move(answered)](const StatusOr<http::Response>& response) {
        // Its end destroys the call, which holds this function.
        const auto ended = calls_.extract(number);
        answered(BodyOf(response, socket_));
      },
      {.timeout = std::chrono::seconds(10)});
}

}  // namespace kgpu::functions
