type News = 'signed-in' | 'signed-out'

let opened: BroadcastChannel | undefined

/** One channel for speaking and listening: a channel does not hear itself, but would hear a second one of its own page. */
const channel = () => {
  if (!('BroadcastChannel' in globalThis)) return undefined
  opened ??= new BroadcastChannel('latchkey')
  return opened
}

/** Tells our other tabs, so that none goes on waiting for a sign-in that has happened, or shows what is over. */
export const announce = (news: News) => channel()?.postMessage(news)

/** Returns how to stop listening. */
export const onNews = (wanted: News, act: () => void) => {
  const listen = ({ data }: MessageEvent) => {
    if (data === wanted) act()
  }
  channel()?.addEventListener('message', listen)
  return () => channel()?.removeEventListener('message', listen)
}
