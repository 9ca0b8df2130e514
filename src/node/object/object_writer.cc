#include "src/node/object/object_writer.h"

#include <fmt/format.h>

#include <boost/json.hpp>
#include <utility>

#include "src/kube/api/json.h"
#include "src/kube/api/writes.h"
#include "src/node/object/seen_node.h"
#include "src/platform/base/log.h"
#include "src/platform/base/stable_hash.h"

namespace kgpu::node {
namespace {

namespace json = boost::json;

std::string DigestOf(std::string_view text) {
  return fmt::format("{:016x}", StableHash(text));
}

json::object& ObjectIn(json::object& parent, std::string_view key) {
  json::value& there = parent[key];
  return there.is_object() ? there.get_object() : there.emplace_object();
}

std::string_view DigestOn(const json::value& object) {
  return kube::TextField(object, {"metadata", "annotations", kDigestAnnotation});
}

}  // namespace

ObjectWriter::ObjectWriter(EventLoop& loop, kube::Client& client, Random& random,
                           ObjectWriterOptions options)
    : loop_(loop),
      client_(client),
      random_(random),
      options_(std::move(options)),
      backoff_(random, options_.retry) {
}

ObjectWriter::~ObjectWriter() = default;

void ObjectWriter::SetWanted(std::optional<json::value> object) {
  std::string digest;
  if (object && object->is_object()) {
    digest = DigestOf(json::serialize(*object));
    ObjectIn(ObjectIn(object->get_object(), "metadata"), "annotations")[kDigestAnnotation] = digest;
  }
  if (is_asked_ && digest == digest_) {
    return;
  }
  is_asked_ = true;
  is_stale_ = true;
  wanted_ = std::move(object);
  digest_ = std::move(digest);
  state_.is_settled = false;
  if (!call_) {
    Schedule(options_.coalesce);
  }
}

void ObjectWriter::Schedule(std::chrono::nanoseconds delay) {
  timer_.Arm(delay, [this] { Look(); });
}

void ObjectWriter::Look() {
  is_stale_ = false;
  call_ = client_.Send({.path = options_.path}, [this](const StatusOr<json::value>& answer) {
    call_.reset();
    OnLooked(answer);
  });
}

void ObjectWriter::OnLooked(const StatusOr<json::value>& answer) {
  if (is_stale_) {
    return Schedule(options_.coalesce);
  }
  const bool is_missing = answer.status().code() == StatusCode::kNotFound;
  if (!answer.ok() && !is_missing) {
    return OnTrouble(answer.status());
  }
  if (wanted_) {
    return answer.ok() && DigestOn(*answer) == digest_ ? OnSettled() : Write();
  }
  // Only one that is ours.
  return answer.ok() && !DigestOn(*answer).empty() ? Delete(*answer) : OnSettled();
}

void ObjectWriter::Write() {
  StatusOr<kube::ApiRequest> request =
      kube::ApplyRequest(options_.path, *wanted_, true, {.field_manager = std::string(kManager)});
  if (!request.ok()) {
    return OnTrouble(request.status());
  }
  call_ = client_.Send(*std::move(request), [this](const StatusOr<json::value>& answer) {
    call_.reset();
    OnWritten(answer.status());
  });
}

void ObjectWriter::Delete(const json::value& there) {
  kube::DeleteOptions options;
  options.uid = std::string(kube::TextField(there, {"metadata", "uid"}));
  call_ = client_.Send(
      kube::DeleteRequest(options_.path, options), [this](const StatusOr<json::value>& answer) {
        call_.reset();
        OnWritten(answer.status().code() == StatusCode::kNotFound ? OkStatus() : answer.status());
      });
}

void ObjectWriter::OnWritten(const Status& status) {
  if (!status.ok()) {
    return OnTrouble(status);
  }
  ++state_.writes;
  KGPU_LOG(kInfo, wanted_ ? "object written" : "object deleted", {"path", options_.path});
  OnSettled();
}

void ObjectWriter::OnSettled() {
  state_.problem.clear();
  backoff_.Reset();
  if (is_stale_) {
    return Schedule(options_.coalesce);
  }
  state_.is_settled = true;
  // Somebody may delete it: jitter, so that the nodes of a cluster do not come to look together.
  if (wanted_) {
    Schedule(options_.look_every + random_.PartOf(options_.look_every / 4));
  }
}

void ObjectWriter::OnTrouble(const Status& status) {
  std::string problem = fmt::format("{}: {}", options_.path, Message(status));
  if (status.code() == StatusCode::kNotFound) {
    problem += "; check that its kind and its namespace exist in the cluster";
  } else if (status.code() == StatusCode::kPermissionDenied) {
    problem += "; grant the agent's service account get, create, patch and delete on it";
  }
  if (problem != state_.problem) {
    KGPU_LOG(kWarning, "object not written", {"reason", problem});
    state_.problem = std::move(problem);
  }
  Schedule(is_stale_ ? options_.coalesce : backoff_.Next(loop_.clock().Now()));
}

}  // namespace kgpu::node
