import { CopyButton } from '../components/button.js'
import { useWords } from '../hooks/settings.js'

/** Lines for a file of another program, with a button that copies them. */
export const ToPaste = ({ text }: { text: string }) => {
  const words = useWords('configuration')
  return (
    <div class="to-paste">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what is wider than the window is scrolled with the keys */}
      <pre lang="en" tabIndex={0}>
        {text}
      </pre>
      <CopyButton text={text} label={words.copy} copiedLabel={words.copied} />
    </div>
  )
}

export const proxyPrograms = ['caddy', 'nginx', 'traefik', 'haproxy'] as const
export const proxyNames = { caddy: 'Caddy', nginx: 'nginx', traefik: 'Traefik', haproxy: 'HAProxy' } as const
