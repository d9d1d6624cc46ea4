# A shop.
module Shop
  LIMIT = 3

  # An order.
  class Order < Base
    attr_reader :items

    def initialize(items = [])
      @items = items
    end

    def self.build(*args, **options)
      new(args) if args.any?
    end

    def each
      items.each do |i|
        yield i
      end
    end

    def total; 1; end

    class << self
      def inside; end
    end

    class Error < StandardError; end
  end
end

def top
  <<~TEXT
    def fake
  TEXT
end
