<html>
<?php
namespace App;

/** A cart. */
#[Entity]
final class Cart extends Base implements Countable
{
    const MAX = 3;
    private array $items = [];

    public function add(Item $item, int $n = 1): self
    {
        $this->items[] = "{$item}";
        return $this;
    }

    abstract protected function price(): int;
}

function helper($a) { return '}'; }
