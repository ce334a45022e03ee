/* Search without a server: browsers start no worker from a file, so there the worker's script runs in a hidden frame.
   The theme's own search looks for the name IFrameWorker. */
if (location.protocol === "file:") {
  window.IFrameWorker = class extends EventTarget {
    constructor(url) {
      super()
      const frame = document.createElement("iframe")
      frame.hidden = true
      frame.title = "search"
      document.body.append(frame)
      this.frame = frame
      const inside = frame.contentWindow
      inside.postMessage = data => {
        const event = new MessageEvent("message", { data })
        this.dispatchEvent(event)
        if (this.onmessage) this.onmessage(event)
      }
      inside.importScripts = (...urls) =>
        urls.reduce((before, src) => before.then(() => new Promise((done, failed) => {
          const script = inside.document.createElement("script")
          Object.assign(script, { src, onload: done, onerror: failed })
          inside.document.body.append(script)
        })), Promise.resolve())
      this.ready = new Promise((done, failed) => {
        const script = inside.document.createElement("script")
        Object.assign(script, { src: String(url), onload: done, onerror: failed })
        inside.document.body.append(script)
      })
    }
    postMessage(data) {
      this.ready.then(() => this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data })))
    }
    terminate() {
      this.frame.remove()
    }
  }
  window.Worker = window.IFrameWorker
}
