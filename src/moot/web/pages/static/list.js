// The list of debates while some of them go on.

const EVERY = 3000;

setInterval(async () => {
  const rows = document.getElementById("rows");
  if (!rows || !("live" in rows.dataset) || document.hidden || rows.contains(document.activeElement)) return;
  const response = await fetch(location.href).catch(() => null);
  if (!response?.ok) return;
  const fresh = new DOMParser().parseFromString(await response.text(), "text/html").getElementById("rows");
  if (fresh) rows.replaceWith(fresh);
}, EVERY);
