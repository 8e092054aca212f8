import { useEffect, useId, useRef } from 'preact/hooks'
import { moveFocusTo } from '../browser/focus.js'
import { useSettings } from '../hooks/settings.js'

/** A word that is too long for a narrow screen says where it may be divided. */
const softHyphen = '\u00ad'

type Props = {
  text: string
  /** It replaces an element that had the focus. */
  focused?: boolean
  /** A sentence below it that is read out with it. */
  lead?: string | undefined
}

/** The heading of a state of a page. The title of the tab follows it. */
export const Heading = ({ text, focused = false, lead }: Props) => {
  const { productName } = useSettings()
  const id = useId()
  const place = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    document.title = `${text.replaceAll(softHyphen, '')} · ${productName}`
  }, [text, productName])
  useEffect(() => {
    if (focused) moveFocusTo(place.current)
  }, [focused])
  if (lead === undefined) return <h1 ref={place}>{text}</h1>
  return (
    <>
      <h1 ref={place} aria-describedby={id}>
        {text}
      </h1>
      <p class="lead" id={id}>
        {lead}
      </p>
    </>
  )
}
