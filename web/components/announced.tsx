import { useEffect, useState } from 'preact/hooks'

/** Long enough for a screen reader to know the region. What loads in less time needs no message. */
const delay = 250

type Props = { text: string; class?: string }

/** A screen reader says what comes into a region that it knows. A text that arrives together with its region stays silent. */
export const Announced = ({ text, class: className }: Props) => {
  const [shown, setShown] = useState<string>()
  useEffect(() => {
    const timer = setTimeout(() => setShown(text), delay)
    return () => clearTimeout(timer)
  }, [text])
  return (
    <p class={className} role="status">
      {shown}
    </p>
  )
}
