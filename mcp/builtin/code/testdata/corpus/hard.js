'use strict'

var first = require('a')
  , second = require('b');

const pattern = /[/{"'`]\/* /g, half = 4 / 2;

/* A comment */ function f(a = { b: 1 }) {
  return `text ${a.b} }${`{`}` + '}' /* begins here
  ends here */
}

const object = {
  name: 'x',
  'quoted': function () {
    return /}/;
  },
  short() { return 1 },
  async *gen() {
    yield `
      function inside() {}
    `;
  },
  arrow: (a) => {
    return a;
  }
};

class A extends (class { x() {} }) {
  #secret = 1
  s = {
    a: 1,
  };

  get size() { return 1 }
  *items() {
    yield 1
  }
  ['computed']() {
    return 2
  }
}

f.prototype.method = function method(a) {
  if (a) { return 1 }
  return 2
};

list.forEach(function each(item) {
  use(item);
});

var last = function () {
  return 3;
}

function Allman()
{
  return 4;
}
