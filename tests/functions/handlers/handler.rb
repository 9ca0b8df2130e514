# frozen_string_literal: true

module FxWatcher
  def self.Handler(input)
    word, argument = input.byteslice(0, 100).split(/[ \n]/n)
    case word
    when 'throw' then raise ArgumentError, 'no such thing'
    when 'exit' then exit!(3)
    when 'crash' then Process.kill('KILL', Process.pid)
    when 'hang' then sleep
    when 'flood' then return Enumerator.new { |out| loop { out << ('x' * 65_536) } }
    when 'head'
      call.status = 418
      call.response_headers['X-Pot'] = 'tea'
      return "#{call.method} #{call.path} #{call.query} #{call.headers['traceparent']} #{call.id}"
    when 'stream' then return (0...argument.to_i).lazy.map { |number| "piece #{number}\n" }
    when 'print'
      puts 'a line of the log'
      warn 'an error of the log'
    end
    input
  end
end
