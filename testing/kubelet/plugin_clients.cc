#include "testing/kubelet/plugin_clients.h"

#include <utility>

#include "testing/kubelet/dialer.h"

namespace kgpu::kubelet {

struct PluginClients::Entry {
  std::string resource;
  std::string socket_path;
  Done done;                       // until the attempt is over
  std::unique_ptr<Dialer> dialer;  // while it dials
  std::shared_ptr<PluginClient> client;
};

PluginClients::PluginClients(const ClientSetting& setting, const Constants& constants,
                             PluginEvents& events)
    : setting_(setting), constants_(constants), events_(events) {
}

PluginClients::~PluginClients() {
  for (const EntryPtr& entry : busy_) {
    entry->dialer.reset();
    if (entry->client != nullptr) {
      entry->client->Close();
    }
  }
}

PluginClients::Cancel PluginClients::Connect(const std::string& resource,
                                             const std::string& socket_path, Done done) {
  auto entry = std::make_shared<Entry>();
  entry->resource = resource;
  entry->socket_path = socket_path;
  entry->done = std::move(done);
  // Before anything is known of the new plugin: the kubelet forgets the old one here.
  current_[resource] = entry;
  busy_.insert(entry);
  entry->dialer = std::make_unique<Dialer>(
      setting_.loop, socket_path, constants_.dial_limit, constants_.dial_retry,
      [this, weak = std::weak_ptr(entry)](StatusOr<UniqueFd> fd) {
        OnDialled(weak.lock(), std::move(fd));
      });
  return lifeline_.Guard([this, weak = std::weak_ptr(entry)] {
    if (const EntryPtr attempt = weak.lock(); attempt != nullptr && attempt->done != nullptr) {
      Fail(attempt, MakeStatus(StatusCode::kCancelled, "the registration was cancelled"));
    }
  });
}

void PluginClients::OnDialled(const EntryPtr& entry, StatusOr<UniqueFd> fd) {
  entry->dialer.reset();
  if (!fd.ok()) {
    Fail(entry, Annotate(fd.status(), "dial {}", entry->socket_path));
    return;
  }
  entry->client = std::make_shared<PluginClient>(setting_, *std::move(fd), entry->resource);
  entry->client->GetOptions(constants_.dial_limit,
                            lifeline_.Guard([this, entry](const StatusOr<PluginOptions>& options) {
                              OnOptions(entry, options);
                            }));
}

void PluginClients::OnOptions(const EntryPtr& entry, const StatusOr<PluginOptions>& options) {
  if (entry->done == nullptr) {
    return;  // given up meanwhile
  }
  if (!options.ok()) {
    Fail(entry, Annotate(options.status(), "failed to get device plugin options"));
    return;
  }
  events_.OnConnected(entry->resource, entry->client, *options);
  std::exchange(entry->done, nullptr)(OkStatus());
  Watch(entry);
}

void PluginClients::Watch(const EntryPtr& entry) {
  entry->client->ListAndWatch(
      lifeline_.Guard([this, resource = entry->resource](const std::vector<Device>& devices) {
        events_.OnDevices(resource, devices);
      }),
      lifeline_.Guard([this, weak = std::weak_ptr(entry)](const Status&) {
        const EntryPtr ended = weak.lock();
        busy_.erase(ended);
        // By name, as the kubelet does it: this may be a newer client than the one that ended.
        Disconnect(ended->resource);
        ended->client->Close();
      }));
}

void PluginClients::Fail(const EntryPtr& entry, const Status& status) {
  current_.erase(entry->resource);
  busy_.erase(entry);
  entry->dialer.reset();
  if (entry->client != nullptr) {
    entry->client->Close();
  }
  std::exchange(entry->done, nullptr)(status);
}

void PluginClients::Disconnect(const std::string& resource) {
  const auto found = current_.find(resource);
  if (found == current_.end()) {
    return;
  }
  const EntryPtr entry = found->second;
  current_.erase(found);
  if (entry->client != nullptr) {
    entry->client->Close();
  }
  events_.OnDisconnected(resource);
}

std::vector<PluginClients::EntryPtr> PluginClients::Current(const std::string& resource) const {
  std::vector<EntryPtr> entries;
  for (const auto& [name, entry] : current_) {
    if (entry->client != nullptr && (resource.empty() || resource == name)) {
      entries.push_back(entry);
    }
  }
  return entries;
}

bool PluginClients::DropStreams(const std::string& resource) {
  const std::vector<EntryPtr> entries = Current(resource);
  for (const EntryPtr& entry : entries) {
    entry->client->DropStream();
  }
  return !entries.empty();
}

bool PluginClients::CutConnections(const std::string& resource) {
  const std::vector<EntryPtr> entries = Current(resource);
  for (const EntryPtr& entry : entries) {
    entry->client->Cut();
  }
  return !entries.empty();
}

}  // namespace kgpu::kubelet
