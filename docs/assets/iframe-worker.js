// Browsers start no worker from a page that is opened as a file. The search of the site then runs in a hidden frame.
if (location.protocol === "file:") {
  window.Worker = window.IFrameWorker = class extends EventTarget {
    constructor(url) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.append(this.frame);
      const inside = this.frame.contentWindow;
      const load = (source) => new Promise((done, failed) => {
        const script = inside.document.createElement("script");
        Object.assign(script, { src: source, onload: done, onerror: failed });
        inside.document.body.append(script);
      });
      inside.importScripts = (...sources) => sources.reduce((all, one) => all.then(() => load(one)), Promise.resolve());
      inside.postMessage = (data) => {
        const event = new MessageEvent("message", { data });
        this.dispatchEvent(event);
        if (this.onmessage) this.onmessage(event);
      };
      this.ready = load(url);
    }

    postMessage(data) {
      this.ready.then(() => this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data })));
    }

    terminate() {
      this.frame.remove();
    }
  };
}
