#include "src/platform/net/http/idle_connections.h"

#include <utility>

namespace kgpu::http {

IdleConnections::~IdleConnections() {
  for (const Idle& idle : idle_) {
    idle.connection->Close();
  }
}

std::shared_ptr<ClientConnection> IdleConnections::Take() {
  while (!idle_.empty()) {
    std::shared_ptr<ClientConnection> connection = std::move(idle_.back().connection);
    idle_.pop_back();
    if (connection->IsReusable()) {
      return connection;
    }
    connection->Close();
  }
  return nullptr;
}

void IdleConnections::Keep(std::shared_ptr<ClientConnection> connection) {
  // A slow reader of the last answer may have paused it.
  if (!connection->IsReusable() || !connection->Resume().ok()) {
    return connection->Close();
  }
  if (idle_.size() >= options_.max) {
    idle_.front().connection->Close();
    idle_.erase(idle_.begin());
  }
  connection->WatchIdle([this, ended = connection.get()] {
    std::erase_if(idle_, [ended](const Idle& idle) { return idle.connection.get() == ended; });
  });
  idle_.push_back({std::move(connection), loop_.clock().Now()});
  if (!timer_.is_armed()) {
    timer_.Arm(options_.limit, [this] { DropOld(); });
  }
}

void IdleConnections::DropOld() {
  const SteadyTime now = loop_.clock().Now();
  std::erase_if(idle_, [&](const Idle& idle) {
    const bool is_old = now - idle.since >= options_.limit;
    if (is_old) {
      idle.connection->Close();
    }
    return is_old;
  });
  if (!idle_.empty()) {
    timer_.Arm(idle_.front().since + options_.limit - now, [this] { DropOld(); });
  }
}

}  // namespace kgpu::http
