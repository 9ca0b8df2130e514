#include "src/node/live/functions.h"

#include <boost/json.hpp>

#include <array>
#include <utility>

#include "src/platform/doc/json_texts.h"

namespace kgpu::live {
namespace {

namespace json = boost::json;

constexpr size_t kMostOfAnswer = size_t{1} << 20;
constexpr size_t kMostFunctions = 200;
constexpr std::chrono::seconds kAskTime{2};

constexpr std::array<std::string_view, 5> kOfFunction = {"state", "problem", "inFlight", "waiting",
                                                         "gpus"};
constexpr std::array<std::string_view, 6> kOfReplica = {"id",       "state",  "gpus",
                                                        "inFlight", "phases", "problem"};

template <typename Keys>
void Take(const json::object& from, const Keys& keys, json::object& into) {
  for (const std::string_view key : keys) {
    if (const json::value* value = from.if_contains(doc::View(key))) {
      into[doc::View(key)] = *value;
    }
  }
}

json::object FunctionOf(const json::object& from) {
  json::object function;
  if (const json::value* name = from.if_contains("Name")) {
    function["name"] = *name;
  }
  if (const json::value* calls = from.if_contains("InvocationCount")) {
    function["calls"] = *calls;
  }
  const json::value* ours = from.if_contains("Kgpu");
  if (ours == nullptr || !ours->is_object()) {
    return function;
  }
  Take(ours->get_object(), kOfFunction, function);
  json::array replicas;
  const json::value* list = ours->get_object().if_contains("replicaList");
  for (const json::value& replica :
       list != nullptr && list->is_array() ? list->get_array() : json::array()) {
    if (replica.is_object()) {
      json::object& taken = replicas.emplace_back(json::object()).get_object();
      Take(replica.get_object(), kOfReplica, taken);
    }
  }
  function["replicas"] = std::move(replicas);
  return function;
}

}  // namespace

json::array FunctionsOf(std::string_view answer) {
  boost::system::error_code error;
  const json::value root = json::parse(doc::View(answer), error);
  const json::value* list =
      !error && root.is_object() ? root.get_object().if_contains("Functions") : nullptr;
  json::array functions;
  for (const json::value& function :
       list != nullptr && list->is_array() ? list->get_array() : json::array()) {
    if (function.is_object() && functions.size() < kMostFunctions) {
      functions.push_back(FunctionOf(function.get_object()));
    }
  }
  return functions;
}

FunctionSource::FunctionSource(EventLoop& loop, std::string socket, std::function<void()> changed)
    : loop_(loop), socket_(std::move(socket)), changed_(std::move(changed)) {
}

void FunctionSource::SetWatched(bool is_watched) {
  is_watched_ = is_watched;
  if (is_watched) {
    timer_.Arm({}, [this] { Ask(); });
  } else {
    timer_.Cancel();
  }
}

void FunctionSource::Ask() {
  timer_.Arm(kEvery, [this] { Ask(); });
  if (call_) {
    return;
  }
  call_ = http::Call::Start(loop_, socket_, {.target = "/system/functions"},
                            [this](const StatusOr<http::Response>& answer) {
                              call_.reset();
                              json::array now = answer.ok() && answer->code == 200
                                                    ? FunctionsOf(answer->body)
                                                    : json::array();
                              if (now != functions_) {
                                functions_ = std::move(now);
                                changed_();
                              }
                            },
                            {.timeout = kAskTime, .max_body = kMostOfAnswer});
}

}  // namespace kgpu::live
