#include "src/functions/provider/podman.h"

#include <boost/json/value.hpp>

#include <utility>

#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/doc/json_reader.h"

namespace kgpu::functions {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds kQuick = seconds(60);
constexpr milliseconds kPull = std::chrono::minutes(30);

std::string TextAt(const boost::json::object& object, std::string_view key) {
  const boost::json::value* value = object.if_contains({key.data(), key.size()});
  const boost::json::string* text = value == nullptr ? nullptr : value->if_string();
  return text == nullptr ? "" : std::string(text->data(), text->size());
}

int64_t NumberAt(const boost::json::object& object, std::string_view key) {
  const boost::json::value* value = object.if_contains({key.data(), key.size()});
  const int64_t* number = value == nullptr ? nullptr : value->if_int64();
  return number == nullptr ? 0 : *number;
}

const boost::json::object* ObjectAt(const boost::json::object& object, std::string_view key) {
  const boost::json::value* value = object.if_contains({key.data(), key.size()});
  return value == nullptr ? nullptr : value->if_object();
}

std::string FirstText(const boost::json::object& object, std::string_view key) {
  const boost::json::value* value = object.if_contains({key.data(), key.size()});
  const boost::json::array* list = value == nullptr ? nullptr : value->if_array();
  if (list == nullptr || list->empty() || !list->front().is_string()) {
    return "";
  }
  const boost::json::string& text = list->front().get_string();
  return {text.data(), text.size()};
}

FoundContainer ReadContainer(const boost::json::object& object) {
  FoundContainer found;
  found.name = FirstText(object, "Names");
  found.is_running = TextAt(object, "State") == "running";
  found.pid = found.is_running ? NumberAt(object, "Pid") : 0;
  if (const boost::json::object* labels = ObjectAt(object, "Labels")) {
    found.function = TextAt(*labels, kFunctionLabel);
    found.replica = TextAt(*labels, kReplicaLabel);
    found.loan = TextAt(*labels, kLoanLabel);
    found.hash = TextAt(*labels, kHashLabel);
  }
  return found;
}

// The labels become parts of paths.
bool IsPathPart(std::string_view text) {
  return !text.empty() && text.find('/') == std::string_view::npos && text != "." && text != "..";
}

bool IsOurs(const FoundContainer& found) {
  return IsPathPart(found.function) && IsPathPart(found.replica) && !found.name.empty();
}

// What a person can use of a failed program: the last line that it printed.
Status Refusal(std::string_view what, const StatusOr<sys::RunResult>& result) {
  if (!result.ok()) {
    return result.status();
  }
  if (result->IsSuccess()) {
    return OkStatus();
  }
  return FailedPrecondition("podman {}: {}", what, sys::Describe(*result));
}

}  // namespace

std::string WithRuntimeFix(std::string_view problem) {
  // A program that the image lacks is no fault of the runtime.
  const bool is_runtimes = problem.find("OCI runtime") != std::string_view::npos &&
                           problem.find("attempted to invoke") == std::string_view::npos;
  for (const auto& [runtime, other] :
       {std::pair<std::string_view, std::string_view>{"crun", "runc"}, {"runc", "crun"}}) {
    const bool is_named = problem.find(fmt::format("{}: ", runtime)) != std::string_view::npos ||
                          problem.find(fmt::format("\"{}\"", runtime)) != std::string_view::npos;
    if (is_runtimes && is_named) {
      return fmt::format(
          "{}: if {} does not work on this host, install {}, then kgpu fn down, and "
          "kgpu fn up --engine-flag=--runtime={}",
          problem, runtime, other, other);
    }
  }
  return std::string(problem);
}

StatusOr<std::vector<FoundContainer>> ParseContainers(std::string_view json) {
  if (Trim(json).empty()) {
    return std::vector<FoundContainer>();
  }
  ASSIGN_OR_RETURN(const boost::json::value root, doc::ParseJson(json, "podman ps", {}));
  std::vector<FoundContainer> containers;
  if (root.is_null()) {
    return containers;
  }
  const boost::json::array* list = root.if_array();
  if (list == nullptr) {
    return InvalidArgument("podman ps: must print a list");
  }
  for (const boost::json::value& item : *list) {
    const boost::json::object* object = item.if_object();
    if (object == nullptr) {
      return InvalidArgument("podman ps: must print a list of maps");
    }
    if (FoundContainer found = ReadContainer(*object); IsOurs(found)) {
      containers.push_back(std::move(found));
    }
  }
  return containers;
}

void Podman::Run(const ProviderFolders& folders, const ReplicaContainer& container, Done done) {
  programs_.Start(
      {.argv = RunCommand(settings_, folders, container), .limit = kQuick},
      [done = std::move(done)](const StatusOr<sys::RunResult>& result) {
        const Status refusal = Refusal("run", result);
        done(refusal.ok() ? refusal : MakeStatus(refusal.code(), WithRuntimeFix(Message(refusal))));
      });
}

void Podman::Remove(const std::string& name, milliseconds grace, Done done) {
  programs_.Start({.argv = RemoveCommand(settings_, name, grace), .limit = kQuick + grace},
                  [done = std::move(done)](const StatusOr<sys::RunResult>& result) {
                    done(Refusal("rm", result));
                  });
}

void Podman::List(std::function<void(StatusOr<std::vector<FoundContainer>>)> done) {
  programs_.Start({.argv = ListCommand(settings_), .limit = kQuick},
                  [done = std::move(done)](const StatusOr<sys::RunResult>& result) {
                    if (Status refusal = Refusal("ps", result); !refusal.ok()) {
                      return done(std::move(refusal));
                    }
                    done(ParseContainers(result->out));
                  });
}

void Podman::Explain(const std::string& name, std::function<void(std::string)> done) {
  programs_.Start(
      {.argv = InspectCommand(settings_, name), .limit = kQuick},
      [done = std::move(done)](const StatusOr<sys::RunResult>& result) {
        if (!result.ok() || !result->IsSuccess()) {
          return done("");
        }
        const std::vector<std::string_view> words = Words(Trim(result->out));
        if (words.size() != 2) {
          return done("");
        }
        done(fmt::format("exit code {}{}", words[0], words[1] == "true" ? ", out of memory" : ""));
      });
}

void Podman::FetchImage(const std::string& image, const std::string& auth_file,
                        const ImageDone& done) {
  FindImage(image, [this, image, auth_file, done](StatusOr<std::string> id) {
    if (id.ok() || id.status().code() != StatusCode::kNotFound || !IsInRegistry(image)) {
      return done(std::move(id));
    }
    programs_.Start({.argv = PullCommand(settings_, image, auth_file), .limit = kPull},
                    [this, image, done](const StatusOr<sys::RunResult>& result) {
                      const Status refusal = Refusal("pull", result);
                      if (refusal.ok()) {
                        return FindImage(image, done);
                      }
                      done(
                          NotFound("image {}: {}: build it with kgpu fn build, or push it to its "
                                   "registry",
                                   image, Message(refusal)));
                    });
  });
}

void Podman::FindImage(const std::string& image, ImageDone done) {
  programs_.Start(
      {.argv = ImageIdCommand(settings_, image), .limit = kQuick},
      [image, done = std::move(done)](const StatusOr<sys::RunResult>& result) {
        if (!result.ok()) {
          return done(result.status());
        }
        const std::string_view id = Trim(result->out);
        if (!result->IsSuccess() || id.empty()) {
          return done(
              NotFound("image {}: not found on this machine: build it with kgpu fn build", image));
        }
        done(std::string(id));
      });
}

}  // namespace kgpu::functions
