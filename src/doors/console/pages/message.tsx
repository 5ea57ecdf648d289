import { Layout, type PageContext } from "../layout.tsx";

/** A page with a message and a link. */
export function MessagePage(
  { page, title, text, link }: {
    page: PageContext;
    title: string;
    text: string;
    link: { readonly href: string; readonly words: string };
  },
) {
  return (
    <Layout page={page} title={title}>
      <p>{text}</p>
      <p>
        <a href={link.href}>{link.words}</a>
      </p>
    </Layout>
  );
}
