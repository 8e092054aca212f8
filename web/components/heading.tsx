import { useEffect, useRef } from 'preact/hooks'
import { moveFocusTo } from '../focus.js'
import { useSettings } from '../settings.js'

type Props = {
  text: string
  /** It replaces an element that had the focus. */
  focused?: boolean
}

/** The heading of a state of a page. The title of the tab follows it. */
export const Heading = ({ text, focused = false }: Props) => {
  const { productName } = useSettings()
  const place = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    document.title = `${text} · ${productName}`
  }, [text, productName])
  useEffect(() => {
    if (focused) moveFocusTo(place.current)
  }, [focused])
  return <h1 ref={place}>{text}</h1>
}
