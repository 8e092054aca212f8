type Message = 'signed-in' | 'signed-out'

let opened: BroadcastChannel | undefined

/** One channel for sending and listening: it does not hear itself, but would hear a second channel of its own page. */
const channel = () => {
  if (!('BroadcastChannel' in globalThis)) return undefined
  opened ??= new BroadcastChannel('latchkey')
  return opened
}

/** Tells the other tabs of this browser, so that none waits for a sign-in that has happened or shows an ended session. */
export const tellOtherTabs = (message: Message) => channel()?.postMessage(message)

/** Returns a function that stops listening. */
export const listenToOtherTabs = (wanted: Message, act: () => void) => {
  const listener = ({ data }: MessageEvent) => {
    if (data === wanted) act()
  }
  channel()?.addEventListener('message', listener)
  return () => channel()?.removeEventListener('message', listener)
}
