import { Component } from 'lib';

/** A thing. */
export interface Thing<T = string> extends Base, Other<T> {
  readonly name: T;
  optional?: number;
  run(a: number): Promise<void>;
}

export type Union =
  | 'a'
  | { kind: 'b' };

export enum Level { Low = 1, High }

@Component({
  selector: 'app-view',
  template: `<div>{{ x }}</div>`,
})
export class View<T extends object> extends Panel implements Thing {
  private count: number = 0;
  public static label = 'view';

  constructor(private readonly service: Service<T>) {
    super();
  }

  /** Runs. */
  async run(a: number): Promise<void> {
    for (const x of [a]) {
      await this.service.call(x);
    }
  }

  find(): { a: number } {
    return { a: 1 };
  }

  get size(): number {
    return 1;
  }
}

export abstract class Panel {
  abstract draw(): void;
  protected depth(): number { return 1; }
}

export const helper = <T>(x: T): T => {
  return x;
};

namespace Inner {
  export function deep(): void {}
}

export function generic<K, V>(
  m: Map<K, V>,
): { key: K } | null {
  return null;
}

declare function ambient(a: string): void;
