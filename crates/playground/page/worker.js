// A worker: the module on a thread of its own. It answers one request at a time, in order.

let giveModule;
const connection = new Promise((resolve) => { giveModule = resolve; }).then((compiled) =>
  connect(compiled, (told, attachments) => postMessage({ told, attachments })));

onmessage = async ({ data }) => {
  if (data.compiled) { giveModule(data.compiled); return; }
  if (data.bytes) { giveModule(WebAssembly.compile(data.bytes)); return; }
  const [answer, attachments] = await (await connection).call(data.request, data.attachments);
  postMessage({ answer, attachments });
};
// Some browsers do not pass a compiled module from a page that was opened from disk.
onmessageerror = () => postMessage({ wants: "bytes" });
