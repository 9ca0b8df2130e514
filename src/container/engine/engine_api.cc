#include "src/container/engine/engine_api.h"

#include <boost/json/value.hpp>

#include <chrono>
#include <memory>
#include <utility>

#include "src/container/cri/runtime_facts.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/doc/doc.h"
#include "src/platform/net/http/client.h"

namespace kgpu::engine {
namespace {

namespace json = boost::json;

constexpr std::chrono::milliseconds kOneTry{5'000};
constexpr std::chrono::milliseconds kBetweenTries{50};

std::string Text(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains({key.data(), key.size()});
  const json::string* text = value == nullptr ? nullptr : value->if_string();
  return text == nullptr ? "" : std::string(text->data(), text->size());
}

StatusOr<LiveFacts> AskDocker(const std::string& socket) {
  http::Request request;
  request.target = "/info";
  request.headers.Add("Host", "docker");
  ASSIGN_OR_RETURN(const http::Response response,
                   http::Fetch(socket, request, {.timeout = kOneTry}));
  if (response.code != 200) {
    return Unavailable("{}: answered {}: {}", socket, response.code, Printable(response.body, 200));
  }
  return ReadDockerInfo(response.body);
}

StatusOr<LiveFacts> AskCri(const std::string& socket) {
  ASSIGN_OR_RETURN(const std::unique_ptr<EpollLoop> loop, EpollLoop::Create());
  StatusOr<cri::RuntimeFacts> answer = Unavailable("{}: no answer", socket);
  const auto question =
      cri::AskRuntime(*loop, socket, kOneTry, [&](StatusOr<cri::RuntimeFacts> facts) {
        answer = std::move(facts);
        loop->Quit();
      });
  loop->Run();
  LiveFacts facts;
  if (answer.status().code() == StatusCode::kUnimplemented) {
    // It answers; no more can be checked.
    facts.note = "its CRI plugin is disabled: Kubernetes cannot use it";
    return facts;
  }
  RETURN_IF_ERROR(answer.status());
  facts.version = answer->version;
  facts.runtimes = answer->runtimes;
  facts.default_runtime = answer->default_runtime;
  facts.reads_cdi = answer->reads_cdi;
  return facts;
}

// Waits for `duration` on a loop of its own.
Status Wait(std::chrono::milliseconds duration) {
  ASSIGN_OR_RETURN(const std::unique_ptr<EpollLoop> loop, EpollLoop::Create());
  loop->After(duration, [&] { loop->Quit(); });
  loop->Run();
  return OkStatus();
}

}  // namespace

StatusOr<LiveFacts> ReadDockerInfo(std::string_view body) {
  ASSIGN_OR_RETURN(const json::value tree,
                   doc::Parse(body, doc::Format::kJson, "Docker's answer to GET /info"));
  const json::object* info = tree.if_object();
  if (info == nullptr) {
    return InvalidArgument("Docker's answer to GET /info is not an object");
  }
  LiveFacts facts;
  facts.version = Text(*info, "ServerVersion");
  facts.default_runtime = Text(*info, "DefaultRuntime");
  const json::value* runtimes = info->if_contains("Runtimes");
  if (runtimes != nullptr && runtimes->is_object()) {
    for (const auto& runtime : runtimes->get_object()) {
      facts.runtimes.emplace_back(runtime.key().data(), runtime.key().size());
    }
  }
  // Since 25.0 it names the folders that it reads, or none where CDI is off.
  if (const json::value* folders = info->if_contains("CDISpecDirs"); folders != nullptr) {
    facts.reads_cdi = folders->is_array() && !folders->get_array().empty();
  } else if (const auto version = FindVersion(facts.version); version) {
    if (CdiSupportOf(Kind::kDocker, version) == CdiSupport::kAbsent) {
      facts.reads_cdi = false;
    }
  }
  return facts;
}

StatusOr<LiveFacts> SocketApi::AskOnce(const Engine& engine) const {
  if (engine.socket.empty()) {
    return FailedPrecondition("{} has no daemon to query", engine.Name());
  }
  const std::string socket = host_.At(engine.socket);
  StatusOr<LiveFacts> facts = engine.kind == Kind::kDocker ? AskDocker(socket) : AskCri(socket);
  const bool is_named = facts.ok() || Message(facts.status()).find(socket) != std::string::npos;
  return is_named ? facts : Annotate(facts.status(), "{}", socket);
}

StatusOr<LiveFacts> SocketApi::Ask(const Engine& engine, std::chrono::milliseconds patience,
                                   std::string_view wanted,
                                   const std::function<bool(const LiveFacts&)>& is_good) {
  const auto until = std::chrono::steady_clock::now() + patience;
  while (true) {
    StatusOr<LiveFacts> facts = AskOnce(engine);
    const bool is_over = std::chrono::steady_clock::now() >= until;
    if (facts.ok() && is_good(*facts)) {
      return facts;
    }
    if (is_over) {
      return facts.ok() ? StatusOr<LiveFacts>(FailedPrecondition(
                              "{} answers, but did not report {} within {} s", engine.Name(),
                              wanted, static_cast<double>(patience.count()) / 1000))
                        : facts;
    }
    RETURN_IF_ERROR(Wait(kBetweenTries));
  }
}

}  // namespace kgpu::engine
