module FxWatcher
  # Called once for each call of the function, with the caller's bytes in a String. Returns a String.
  # The process lives on between calls: what is expensive to make can stay in a constant outside.
  def FxWatcher.Handler(argStr)
    return argStr
  end
end
