(function () {
  'use strict';
  // Of each run the calls can be filtered by tool, status and text.
  document.querySelectorAll('form.filter').forEach(function (form) {
    var calls = Array.from(document.getElementById(form.dataset.of).children);
    var tool = form.elements.namedItem('tool'), status = form.elements.namedItem('status');
    var text = form.elements.namedItem('text'), count = form.querySelector('output');
    function fill(select, key) {
      Array.from(new Set(calls.map(function (c) { return c.dataset[key]; }))).sort().forEach(function (v) {
        var o = document.createElement('option');
        o.value = v; o.textContent = v || '(none)';
        select.append(o);
      });
    }
    function apply() {
      var want = text.value.toLowerCase(), n = 0;
      calls.forEach(function (c) {
        var shown = (tool.selectedIndex === 0 || c.dataset.tool === tool.value) &&
          (status.selectedIndex === 0 || c.dataset.status === status.value) &&
          (want === '' || c.textContent.toLowerCase().indexOf(want) >= 0);
        c.hidden = !shown;
        if (shown) n++;
      });
      count.textContent = n + ' of ' + calls.length + ' calls';
    }
    fill(tool, 'tool'); fill(status, 'status');
    form.addEventListener('input', apply);
    form.addEventListener('submit', function (e) { e.preventDefault(); });
    form.hidden = false;
    apply();
  });
  // A link to a call opens it, and what it is inside of.
  function open() {
    var e = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
    for (var at = e; at; at = at.parentElement) if (at.tagName === 'DETAILS') at.open = true;
    if (e) e.scrollIntoView();
  }
  window.addEventListener('hashchange', open);
  open();
  // Where the style cannot open what is printed.
  window.addEventListener('beforeprint', function () {
    document.querySelectorAll('details').forEach(function (d) { d.open = true; });
  });
})();
